//! A small NATS server: who logs in how, and what arrives.

use std::sync::Arc;
use std::time::Duration;

use ring::signature::{ED25519, UnparsedPublicKey};
use serde_json::{Value as Json, json};
use tidegate_notify::{Config, Failure};
use tidegate_providers::client::Roots;
use tidegate_providers::{Client, Hosts, Proxies};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{QUICK, Seen, acceptor, config, read_line, sender, told};

/// The key of a user, for tests only.
const SEED: &str = "SUAK2EUHHXSURZAU5T36IEYSR6WG755AWMH6GOANGPQL3K2M6Q6INQYJYI";
const PUBLIC: &str = "UCNHJTGIN5IW6T3KPQ3JAZLBF6R24Z4GLGCESAKD3DDI53NDUTKJLGRY";
const NONCE: &str = "a nonce of the server";

/// How a server behaves.
#[derive(Clone)]
struct Play {
    info: Json,
    /// Whether TLS begins after the greeting.
    is_tls: bool,
    /// What is said to CONNECT, in place of looking at it.
    to_connect: &'static str,
    /// What is said to a message before the PONG.
    to_message: &'static str,
}

impl Default for Play {
    fn default() -> Self {
        let info = json!({"server_id": "N", "headers": true, "max_payload": 1_048_576, "nonce": NONCE});
        Self { info, is_tls: false, to_connect: "", to_message: "" }
    }
}

fn with(play: Play, field: &str, value: Json) -> Play {
    let mut info = play.info;
    info.as_object_mut().unwrap().insert(field.to_owned(), value);
    Play { info, ..play }
}

fn base32(text: &str) -> Vec<u8> {
    let value = |c: char| "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".find(c).unwrap();
    let bits: Vec<usize> = text.chars().flat_map(|c| (0..5).rev().map(move |bit| value(c) >> bit & 1)).collect();
    bits.chunks_exact(8).map(|bits| bits.iter().fold(0, |byte, bit| byte << 1 | *bit as u8)).collect()
}

/// Whether the one who connects is who they say.
fn is_believed(connect: &Json) -> bool {
    if let Some(key) = connect["nkey"].as_str() {
        let signature = connect["sig"].as_str().unwrap().replace('-', "+").replace('_', "/") + "==";
        let signature = tidegate_expr::base64::decode(&signature).unwrap();
        let public = UnparsedPublicKey::new(&ED25519, base32(key)[1..33].to_vec());
        return key == PUBLIC && public.verify(NONCE.as_bytes(), &signature).is_ok();
    }
    connect["pass"].is_null() && connect["auth_token"].is_null() || connect["pass"] == "geheim1"
}

/// Speaks NATS until the other side is gone.
async fn speak(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), play: &Play, seen: &Seen) {
    // Servers ask at any time whether somebody is there.
    let _ = stream.write_all(b"PING\r\n").await;
    while let Some(line) = read_line(stream).await {
        seen.lock().unwrap().push(line.clone());
        let words: Vec<&str> = line.split(' ').collect();
        let answer = match words[0] {
            "CONNECT" if !play.to_connect.is_empty() => play.to_connect,
            "CONNECT" if is_believed(&serde_json::from_str(&line[8..]).unwrap()) => "",
            "CONNECT" => "-ERR 'Authorization Violation'\r\n",
            "PUB" | "HPUB" => {
                let mut message = vec![0; words.last().unwrap().parse::<usize>().unwrap() + 2];
                stream.read_exact(&mut message).await.unwrap();
                seen.lock().unwrap().push(String::from_utf8(message).unwrap());
                play.to_message
            }
            "PING" => "+OK\r\nINFO {}\r\nPONG\r\n",
            _ => "",
        };
        if stream.write_all(answer.as_bytes()).await.is_err() || answer.starts_with("-ERR 'Auth") {
            return;
        }
    }
}

async fn server(play: Play) -> (u16, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, seen) = (listener.local_addr().unwrap().port(), Seen::default());
    let noted = Arc::clone(&seen);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (play, seen) = (play.clone(), Arc::clone(&noted));
            tokio::spawn(async move {
                stream.write_all(format!("INFO {} \r\n", play.info).as_bytes()).await.unwrap();
                if !play.is_tls {
                    return speak(&mut stream, &play, &seen).await;
                }
                if let Ok(mut stream) = acceptor().accept(stream).await {
                    seen.lock().unwrap().push("(TLS)".to_owned());
                    speak(&mut stream, &play, &seen).await;
                }
            });
        }
    });
    (port, seen)
}

fn configured(options: &str) -> Arc<Config> {
    config(&[("service.nats", format!("{options}\n{QUICK}\nretryMax: 0"))])
}

async fn publish(options: &str) -> Result<(), Failure> {
    told(&sender().0, &configured(options), "nats", "rollouts.web").await
}

/// What was said to the server, without CONNECT and with what it held apart.
fn heard(seen: &Seen) -> (Vec<Json>, Vec<String>) {
    let lines = seen.lock().unwrap().clone();
    let (connects, others): (Vec<String>, Vec<String>) =
        lines.into_iter().partition(|line| line.starts_with("CONNECT "));
    (connects.iter().map(|line| serde_json::from_str(&line[8..]).unwrap()).collect(), others)
}

#[tokio::test]
async fn nats_takes_a_message_with_and_without_headers() {
    let (port, seen) = server(Play::default()).await;
    assert_eq!(publish(&format!("url: nats://127.0.0.1:{port}")).await, Ok(()));
    let (connects, others) = heard(&seen);
    assert_eq!((&connects[0]["verbose"], &connects[0]["tls_required"]), (&json!(false), &json!(false)));
    let message = "Rollout web is paused.\r\n";
    assert_eq!(
        others.iter().filter(|line| *line != "PONG").collect::<Vec<_>>(),
        ["PING", "PUB rollouts.web 22", message, "PING"]
    );
    let (port, seen) = server(Play::default()).await;
    assert_eq!(publish(&format!("url: 127.0.0.1:{port}\nheaders: {{X-Team: shop}}")).await, Ok(()));
    let (_, others) = heard(&seen);
    let wanted = ["HPUB rollouts.web 26 48", "NATS/1.0\r\nX-Team: shop\r\n\r\nRollout web is paused.\r\n"];
    assert!(others.windows(2).any(|pair| pair == wanted), "{others:?}");
}

#[tokio::test]
async fn nats_believes_a_password_or_the_signature_of_a_key_and_refuses_others() {
    let (port, seen) = server(Play::default()).await;
    let url = format!("url: nats://127.0.0.1:{port}");
    assert_eq!(publish(&format!("{url}\nusername: me\npassword: $password")).await, Ok(()));
    assert_eq!(publish(&format!("{url}\nnkey: {SEED}")).await, Ok(()));
    let (connects, _) = heard(&seen);
    assert_eq!((&connects[0]["user"], &connects[1]["nkey"]), (&json!("me"), &json!(PUBLIC)));
    let config = config(&[("service.nats", format!("{url}\nusername: me\npassword: wrong\n{QUICK}"))]);
    let failure = told(&sender().0, &config, "nats", "rollouts.web").await.unwrap_err();
    let wanted = format!("the NATS server 127.0.0.1:{port} refused: Authorization Violation");
    assert_eq!((failure.text, failure.may_pass, heard(&seen).0.len()), (wanted, false, 3), "it is tried once");
    let nameless = with(Play::default(), "nonce", Json::Null);
    let (port, seen) = server(nameless).await;
    let failure = publish(&format!("url: 127.0.0.1:{port}\nnkey: {SEED}")).await.unwrap_err();
    assert!(failure.text.ends_with("asks for no signature, so that it knows no keys (option nkey)"), "{failure}");
    assert_eq!(heard(&seen).0, Vec::<Json>::new());
}

#[tokio::test]
async fn a_key_of_nats_may_be_in_a_file_of_the_operator() {
    let (port, seen) = server(Play::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("user.nk");
    std::fs::write(&path, SEED).unwrap();
    let config = configured(&format!("url: 127.0.0.1:{port}\nnkey: {}", path.display()));
    let (sender, _) = sender();
    assert!(told(&sender, &config, "nats", "x").await.unwrap_err().text.starts_with("only the configuration in"));
    let operators = Arc::new(Arc::unwrap_or_clone(config).with_files());
    assert_eq!(told(&sender, &operators, "nats", "x").await, Ok(()));
    assert_eq!(heard(&seen).0[0]["nkey"], PUBLIC);
}

#[tokio::test]
async fn nothing_is_said_to_a_nats_server_before_the_tls_it_requires() {
    let login = "username: me\npassword: $password";
    let required = with(Play { is_tls: true, ..Play::default() }, "tls_required", json!(true));
    let (port, seen) = server(required.clone()).await;
    assert_eq!(publish(&format!("url: nats://127.0.0.1:{port}\ninsecureSkipVerify: true\n{login}")).await, Ok(()));
    let lines = seen.lock().unwrap().clone();
    assert!(lines[0] == "(TLS)" && lines[1].starts_with("CONNECT "), "{lines:?}");
    // A stranger with a certificate that nobody believes hears nothing.
    let (port, seen) = server(required).await;
    let failure = publish(&format!("url: nats://127.0.0.1:{port}\n{login}")).await.unwrap_err();
    assert!(failure.text.contains("tls: "), "{failure}");
    assert_eq!(seen.lock().unwrap().as_slice(), Vec::<String>::new());
    // Who asks for TLS does not speak without it,
    let (port, seen) = server(Play::default()).await;
    let failure = publish(&format!("url: tls://127.0.0.1:{port}\n{login}")).await.unwrap_err();
    assert!(failure.text.ends_with("offers no TLS, which the option url asks for"), "{failure}");
    assert!(heard(&seen).0.is_empty());
    // and gets it where it is offered.
    let offered = with(Play { is_tls: true, ..Play::default() }, "tls_available", json!(true));
    let (port, seen) = server(offered).await;
    assert_eq!(publish(&format!("url: tls://127.0.0.1:{port}\ninsecureSkipVerify: true")).await, Ok(()));
    assert_eq!(heard(&seen).0[0]["tls_required"], true);
}

#[tokio::test]
async fn what_a_nats_server_says_against_a_message_is_the_failure() {
    let denied = "-ERR 'Permissions Violation for Publish to \"rollouts.web\"'\r\n";
    for (play, wanted, may_pass) in [
        (
            Play { to_message: denied, ..Play::default() },
            "refused: Permissions Violation for Publish to \"rollouts.web\"",
            false,
        ),
        (
            Play { to_connect: "-ERR 'Maximum Connections Exceeded'\r\n", ..Play::default() },
            "refused: Maximum Connections Exceeded",
            true,
        ),
        (
            Play { to_connect: "HTTP/1.1 400 Bad\r\n", ..Play::default() },
            "cannot be talked to: its answer is not that of NATS",
            true,
        ),
        (with(Play::default(), "max_payload", json!(10)), "takes messages of 10 bytes, and this one has 40", false),
        (with(Play::default(), "headers", json!(false)), "takes no headers (option headers)", false),
    ] {
        let (port, _) = server(play).await;
        let failure = publish(&format!("url: 127.0.0.1:{port}\nheaders: {{A: b}}")).await.unwrap_err();
        assert_eq!(failure.text, format!("the NATS server 127.0.0.1:{port} {wanted}"));
        assert_eq!(failure.may_pass, may_pass);
    }
}

/// A listener that greets so and then says nothing more.
async fn greeting(words: Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut held = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            // The other side may have had enough.
            let _ = stream.write_all(&words).await;
            held.push(stream);
        }
    });
    port
}

#[tokio::test]
async fn a_server_that_is_none_of_nats_hangs_or_talks_too_much_is_given_up() {
    for (words, wanted) in [
        (b"HTTP/1.1 200 OK\r\n".to_vec(), "its greeting is not that of NATS"),
        (b"INFO geheim\r\n".to_vec(), "its greeting is not that of NATS"),
        (b"INFO []\r\n".to_vec(), "its greeting is not that of NATS"),
        (vec![b'x'; 1024 * 1024], "the answer is too long"),
        (Vec::new(), "it took longer than 300ms"),
        (b"INFO {}\r\n".to_vec(), "it took longer than 300ms"),
    ] {
        let port = greeting(words).await;
        let failure = publish(&format!("url: 127.0.0.1:{port}\ntimeout: 300ms")).await.unwrap_err();
        assert_eq!(failure.text, format!("the NATS server 127.0.0.1:{port} cannot be talked to: {wanted}"));
        assert!(failure.may_pass);
    }
}

#[tokio::test]
async fn the_next_nats_server_is_asked_when_one_is_gone_or_hangs() {
    let (hanging, (port, seen)) = (greeting(Vec::new()).await, server(Play::default()).await);
    let urls = format!("url: 'nats://127.0.0.1:1,nats://127.0.0.1:{hanging},nats://127.0.0.1:{port}'\ntimeout: 300ms");
    let before = tokio::time::Instant::now();
    assert_eq!(publish(&urls).await, Ok(()));
    assert!(heard(&seen).0.len() == 1 && before.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn nats_obeys_the_rules_for_hosts() {
    let failure = publish("url: nats://169.254.169.254:4222").await.unwrap_err();
    assert!(failure.text.contains("link-local (cloud metadata)"), "{failure}");
    let hosts = Hosts { allow: Vec::new(), deny: vec!["127.0.0.1".parse().unwrap()] };
    let client = Client::new(hosts, Proxies::default(), Roots::System).unwrap();
    let clock = tidegate_clock::Clock::system();
    let network = tidegate_delivery::Network::new(client, clock);
    let (denying, sending) =
        tidegate_delivery::Sender::new(Arc::new(network), Arc::new(tidegate_delivery::Silent), clock);
    tokio::spawn(sending);
    let (port, seen) = server(Play::default()).await;
    let failure = told(&denying, &configured(&format!("url: 127.0.0.1:{port}")), "nats", "x").await.unwrap_err();
    assert!(failure.text.contains("deny list") && seen.lock().unwrap().is_empty(), "{failure}");
}
