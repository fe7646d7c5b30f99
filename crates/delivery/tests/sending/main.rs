//! Real listeners on loopback: what arrives, what is tried again, what does not hold up anybody.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod github;
mod nats;
mod pubsub;
#[path = "../../../notify/tests/services/signatures.rs"]
mod signatures;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value as Json, json};
use tidegate_clock::Clock;
use tidegate_delivery::{About, Job, Network, Observer, Occurrence, Sender};
use tidegate_notify::{Config, Destination, Failure, Sending};
use tidegate_providers::client::Roots;
use tidegate_providers::{Client, Hosts, Proxies};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// What listeners have seen.
type Seen = Arc<Mutex<Vec<String>>>;

#[derive(Default)]
struct Counts {
    sent: Mutex<Vec<bool>>,
    dropped: Mutex<usize>,
    took: Mutex<usize>,
}

impl Observer for Counts {
    fn sent(&self, _: &About, succeeded: bool) {
        self.sent.lock().unwrap().push(succeeded);
    }

    fn took(&self, _: &About, _: Duration) {
        *self.took.lock().unwrap() += 1;
    }

    fn dropped(&self) {
        *self.dropped.lock().unwrap() += 1;
    }
}

fn sender() -> (Sender, Arc<Counts>) {
    let client = Client::new(Hosts::default(), Proxies::default(), Roots::System).unwrap();
    let clock = Clock::system();
    let counts = Arc::new(Counts::default());
    let (sender, sending) = Sender::new(Arc::new(Network::new(client, clock)), Arc::clone(&counts) as _, clock);
    tokio::spawn(sending);
    (sender, counts)
}

fn config(entries: &[(&str, String)]) -> Arc<Config> {
    let mut all: BTreeMap<String, String> =
        entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    all.insert("trigger.on-rollout-paused".to_owned(), "- send: [paused]".to_owned());
    all.entry("template.paused".to_owned())
        .or_insert_with(|| "message: 'Rollout {{.rollout.metadata.name}} is paused.'".to_owned());
    let secrets = BTreeMap::from([("password".to_owned(), b"geheim1".to_vec())]);
    let config = Config::read(&all, &secrets);
    assert_eq!(config.problems, []);
    Arc::new(config)
}

fn paused(config: &Arc<Config>, destinations: &[(&str, &str)]) -> Occurrence {
    let annotations: serde_json::Map<String, Json> = destinations
        .iter()
        .map(|(service, to)| (format!("notifications.argoproj.io/subscribe.on-rollout-paused.{service}"), json!(to)))
        .collect();
    Occurrence {
        about: About {
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            severity: "Normal",
            reason: "RolloutPaused".to_owned(),
        },
        configs: vec![(String::new(), Arc::clone(config))],
        object: Arc::new(json!({"metadata": {"name": "web", "annotations": annotations}})),
        analysis_runs: None,
    }
}

/// Sends one message and tells what became of it.
async fn told(sender: &Sender, config: &Arc<Config>, service: &str, recipient: &str) -> Result<(), Failure> {
    let destination = Destination { service: service.to_owned(), recipient: recipient.to_owned() };
    let templates = vec!["paused".to_owned()];
    let sending = Sending { trigger: "on-rollout-paused".to_owned(), destination, templates };
    let object = json!({"metadata": {"name": "web"}});
    let variables = Arc::new(tidegate_notify::variables(&object, None, &config.secrets));
    let job = Job { config: (String::new(), Arc::clone(config)), sending, variables, resource: "shop/web".to_owned() };
    sender.send(job).unwrap().await.unwrap()
}

/// One request, head and body; and the rest of the connection.
async fn read_request(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await.unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        text.push_str(&line);
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await.unwrap();
    text + &String::from_utf8(body).unwrap()
}

/// A server that answers with these statuses, the last one for ever.
async fn http(statuses: &'static [u16], seen: Seen) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for number in 0.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            let request = read_request(&mut stream).await;
            seen.lock().unwrap().push(request);
            let status = statuses[number.min(statuses.len() - 1)];
            let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\nno");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    address
}

/// A server that answers each request as it is told to.
async fn playing(play: impl Fn(&str) -> (u16, String) + Send + 'static) -> (String, Seen) {
    let seen = Seen::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let noted = Arc::clone(&seen);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let request = read_request(&mut stream).await;
            let (status, body) = play(&request);
            noted.lock().unwrap().push(request);
            let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            // Who has heard enough may be gone.
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (address, seen)
}

/// The first lines of what a listener has seen: method and path.
fn lines(seen: &Seen) -> Vec<String> {
    let line = |request: &String| request.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
    seen.lock().unwrap().iter().map(line).collect()
}

/// A server that takes connections and says nothing.
async fn hanging() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut held = Vec::new();
        loop {
            held.push(listener.accept().await.unwrap());
        }
    });
    address
}

const QUICK: &str = "retryWaitMin: 10ms\nretryWaitMax: 20ms";

async fn soon(holds: impl Fn() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it did not happen within five seconds");
}

#[tokio::test]
async fn a_webhook_gets_its_headers_and_body() {
    let seen = Seen::default();
    let address = http(&[200], Arc::clone(&seen)).await;
    let config = config(&[
        ("service.webhook.hook", format!("url: {address}/base\nheaders: [{{name: X-Token, value: $password}}]")),
        (
            "template.paused",
            "webhook: {hook: {method: POST, path: /x, body: '{\"name\": \"{{.rollout.metadata.name}}\"}'}}".to_owned(),
        ),
    ]);
    let (sender, counts) = sender();
    sender.occurred(paused(&config, &[("hook", "")]));
    sender.flush().await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 1);
    assert!(seen[0].starts_with("POST /base/x HTTP/1.1\r\n") && seen[0].contains("geheim1"), "{}", seen[0]);
    assert!(seen[0].ends_with("\r\n\r\n{\"name\": \"web\"}"), "{}", seen[0]);
    assert_eq!((counts.sent.lock().unwrap().as_slice(), *counts.took.lock().unwrap()), ([true].as_slice(), 1));
}

#[tokio::test]
async fn what_fails_is_tried_three_times_more_and_then_given_up() {
    let (passing, lasting, refusing) = (Seen::default(), Seen::default(), Seen::default());
    let entries = [
        ("service.webhook.a", format!("url: {}\n{QUICK}", http(&[500, 503, 200], Arc::clone(&passing)).await)),
        ("service.webhook.b", format!("url: {}\n{QUICK}", http(&[500], Arc::clone(&lasting)).await)),
        ("service.webhook.c", format!("url: {}\n{QUICK}", http(&[403], Arc::clone(&refusing)).await)),
        ("service.webhook.d", format!("url: http://127.0.0.1:1\n{QUICK}")),
    ];
    let config = config(&entries);
    let (sender, counts) = sender();
    sender.occurred(paused(&config, &[("a", ""), ("b", ""), ("c", ""), ("d", ""), ("nobody", "")]));
    sender.flush().await;
    let tries = [&passing, &lasting, &refusing].map(|seen| seen.lock().unwrap().len());
    assert_eq!(tries, [3, 4, 1]);
    let mut sent = counts.sent.lock().unwrap().clone();
    sent.sort_unstable();
    assert_eq!(sent, [false, false, false, false, true]);
}

#[tokio::test]
async fn a_destination_that_hangs_holds_back_nobody_else_and_a_full_queue_is_counted() {
    let seen = Seen::default();
    let quick = http(&[200], Arc::clone(&seen)).await;
    let config = config(&[
        ("service.webhook.slow", format!("url: {}", hanging().await)),
        ("service.webhook.quick", format!("url: {quick}")),
    ]);
    let (sender, counts) = sender();
    for _ in 0..3000 {
        sender.occurred(paused(&config, &[("slow", "")]));
        tokio::task::yield_now().await;
    }
    soon(|| *counts.dropped.lock().unwrap() == 3000 - 250 - 1).await;
    // A quarter of the room is all that one may take; another destination is told at once.
    sender.occurred(paused(&config, &[("quick", "")]));
    soon(|| seen.lock().unwrap().len() == 1).await;
}

#[tokio::test]
async fn messages_to_one_destination_keep_their_order() {
    let seen = Seen::default();
    let address = http(&[500, 200], Arc::clone(&seen)).await;
    let config = config(&[
        ("service.webhook.hook", format!("url: {address}\n{QUICK}")),
        ("template.paused", "message: '{{.rollout.metadata.uid}}'".to_owned()),
    ]);
    let (sender, _) = sender();
    for number in 0..5 {
        let mut occurrence = paused(&config, &[("hook", "")]);
        let mut object = (*occurrence.object).clone();
        object["metadata"].as_object_mut().unwrap().insert("uid".to_owned(), json!(number.to_string()));
        occurrence.object = Arc::new(object);
        sender.occurred(occurrence);
    }
    sender.flush().await;
    let bodies: Vec<String> =
        seen.lock().unwrap().iter().map(|request| request.chars().last().unwrap().to_string()).collect();
    assert_eq!(bodies, ["0", "0", "1", "2", "3", "4"]);
}

#[tokio::test]
async fn a_message_of_a_megabyte_arrives_and_a_larger_one_is_refused_before_it_is_sent() {
    let seen = Seen::default();
    let address = http(&[200], Arc::clone(&seen)).await;
    let of_size = |size: usize| {
        config(&[
            ("service.webhook.hook", format!("url: {address}\n{QUICK}")),
            ("template.paused", format!("message: '{{{{ repeat {size} \"x\" }}}}'")),
        ])
    };
    let (sender, counts) = sender();
    sender.occurred(paused(&of_size(1024 * 1024), &[("hook", "")]));
    sender.occurred(paused(&of_size(1024 * 1024 + 1), &[("hook", "")]));
    sender.flush().await;
    assert_eq!(seen.lock().unwrap().iter().map(String::len).filter(|size| *size > 1024 * 1024).count(), 1);
    let mut sent = counts.sent.lock().unwrap().clone();
    sent.sort_unstable();
    assert_eq!(sent, [false, true]);
}

/// One line, byte by byte: what follows may be TLS.
async fn read_line(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        line.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8(line).unwrap().trim_end().to_owned())
}

/// Speaks one line per command, with these lines after EHLO; whether the other side wants TLS.
async fn speak(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), capabilities: &str, seen: &Seen) -> bool {
    let mut is_data = false;
    while let Some(line) = read_line(stream).await {
        seen.lock().unwrap().push(line.clone());
        let answer = match line.split([' ', ':']).next().unwrap() {
            "." => {
                is_data = false;
                "250 taken"
            }
            _ if is_data => continue,
            "EHLO" => capabilities,
            "STARTTLS" => "220 go on",
            "AUTH" if line == "AUTH LOGIN" => "334 VXNlcm5hbWU6",
            "dQ==" => "334 UGFzc3dvcmQ6",
            "AUTH" | "Z2VoZWltMQ==" => "235 welcome",
            "RCPT" if line.contains("nobody") => "550 no such user",
            "MAIL" | "RCPT" => "250 fine",
            "DATA" => {
                is_data = true;
                "354 go on"
            }
            _ => "221 bye",
        };
        if stream.write_all(format!("{answer}\r\n").as_bytes()).await.is_err() {
            return false;
        }
        if line == "STARTTLS" {
            return true;
        }
    }
    false
}

fn acceptor() -> TlsAcceptor {
    let chain = include_str!("../../../providers/tests/certificates/server.pem");
    let chain = vec![CertificateDer::from_pem_slice(chain.as_bytes()).unwrap()];
    let key = include_str!("../../../providers/tests/certificates/server.key");
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    TlsAcceptor::from(Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap()))
}

/// A mail server.
async fn smtp(capabilities: &'static str, seen: Seen) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = acceptor();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (seen, acceptor) = (Arc::clone(&seen), acceptor.clone());
            tokio::spawn(async move {
                stream.write_all(b"220 hello\r\n").await.unwrap();
                if speak(&mut stream, capabilities, &seen).await
                    && let Ok(mut stream) = acceptor.accept(stream).await
                {
                    seen.lock().unwrap().push("(TLS)".to_owned());
                    speak(&mut stream, "250-hi\r\n250 AUTH PLAIN", &seen).await;
                }
            });
        }
    });
    port
}

async fn mailed(capabilities: &'static str, login: &str, to: &str) -> (Vec<String>, Vec<bool>) {
    let seen = Seen::default();
    let port = smtp(capabilities, Arc::clone(&seen)).await;
    let config = config(&[
        ("service.email", format!("host: 127.0.0.1\nport: {port}\nfrom: Rollouts <bot@x.org>\n{QUICK}\n{login}")),
        ("template.paused", "message: paused\nemail: {subject: 'About {{.rollout.metadata.name}}'}".to_owned()),
    ]);
    let (sender, counts) = sender();
    sender.occurred(paused(&config, &[("email", to)]));
    sender.flush().await;
    let sent = counts.sent.lock().unwrap().clone();
    let seen = seen.lock().unwrap().clone();
    (seen, sent)
}

#[tokio::test]
async fn a_mail_arrives_with_its_subject_and_body() {
    let (seen, sent) = mailed("250-hi\r\n250 SIZE 100", "", "a@x.org, b@x.org").await;
    assert_eq!(sent, [true]);
    assert_eq!(
        seen[..5],
        ["EHLO rollouts-controller", "MAIL FROM:<bot@x.org>", "RCPT TO:<a@x.org>", "RCPT TO:<b@x.org>", "DATA"]
    );
    for line in ["Subject: About web", "From: Rollouts <bot@x.org>", "To: a@x.org, b@x.org", "cGF1c2Vk", "."] {
        assert!(seen.iter().any(|known| known == line), "{line} in {seen:?}");
    }
}

#[tokio::test]
async fn a_login_is_plain_or_step_by_step_and_a_refusal_is_final() {
    let login = "username: u\npassword: $password";
    let (seen, sent) = mailed("250-hi\r\n250 AUTH LOGIN PLAIN", login, "a@x.org").await;
    assert_eq!((seen[1].as_str(), sent.as_slice()), ("AUTH PLAIN AHUAZ2VoZWltMQ==", [true].as_slice()));
    let (seen, sent) = mailed("250-hi\r\n250 AUTH LOGIN", login, "a@x.org").await;
    assert_eq!(
        (seen[1..4].to_vec(), sent.as_slice()),
        (["AUTH LOGIN", "dQ==", "Z2VoZWltMQ=="].map(str::to_owned).to_vec(), [true].as_slice())
    );
    let (seen, sent) = mailed("250 hi", "", "nobody@x.org").await;
    assert_eq!((seen.iter().filter(|line| line.starts_with("EHLO")).count(), sent.as_slice()), (1, [false].as_slice()));
    let (_, sent) = mailed("250 hi", login, "a@x.org").await;
    assert_eq!(sent, [false], "there is no way to log in");
}

#[tokio::test]
async fn tls_is_begun_where_it_is_offered_and_nothing_is_said_to_a_stranger() {
    let login = "username: u\npassword: $password";
    let offer = "250-hi\r\n250-STARTTLS\r\n250 AUTH PLAIN";
    let (seen, sent) = mailed(offer, &format!("{login}\ninsecure_skip_verify: true"), "a@x.org").await;
    assert_eq!(sent, [true], "{seen:?}");
    let begin =
        ["EHLO rollouts-controller", "STARTTLS", "(TLS)", "EHLO rollouts-controller", "AUTH PLAIN AHUAZ2VoZWltMQ=="];
    assert_eq!(seen[..5], begin);
    let (seen, sent) = mailed(offer, login, "a@x.org").await;
    assert_eq!(sent, [false], "the certificate is nobody's that is believed");
    assert!(seen.iter().all(|line| line.starts_with("EHLO") || line == "STARTTLS"), "{seen:?}");
}
