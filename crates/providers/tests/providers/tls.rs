//! TLS with a private authority, and through a proxy; providers that break or hang.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tidegate_analysis::{Redactor, Resolved, Task, Work};
use tidegate_api::wire::Text;
use tidegate_clock::Clock;
use tidegate_providers::client::Roots;
use tidegate_providers::{Client, Hosts, Method, Proxies, Request, SecretName, SecretSource, Surroundings, measure};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::dialog::run;

const AUTHORITY: &str = include_str!("../certificates/ca.pem");
const CERTIFICATE: &str = include_str!("../certificates/server.pem");
const KEY: &str = include_str!("../certificates/server.key");

/// A server that answers every request with `7`; its port.
async fn secure_server() -> u16 {
    let chain = vec![CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(chain, key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut head = [0; 1024];
                let _read = stream.read(&mut head).await;
                let _written = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n7").await;
                let _ended = stream.shutdown().await;
            });
        }
    });
    port
}

/// A proxy that connects to a port of this machine whatever it is asked for; its port.
async fn tunnel(to: u16, status: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0; 1024];
            let length = stream.read(&mut head).await.unwrap();
            assert!(head[..length].starts_with(b"CONNECT metrics.example:443 HTTP/1.1\r\n"));
            stream.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).await.unwrap();
            let mut other = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
            let _ended = copy_bidirectional(&mut stream, &mut other).await;
        }
    });
    port
}

fn client(roots: Roots, proxies: Proxies) -> Client {
    Client::new(Hosts::default(), proxies, roots).unwrap()
}

#[tokio::test]
async fn a_private_authority_is_believed_when_given_and_only_then() {
    let port = secure_server().await;
    let mut request = Request::new(Method::Get, format!("https://localhost:{port}/"));
    let ours = client(Roots::Pem(AUTHORITY.to_owned()), Proxies::default());
    assert_eq!(ours.send(&request).await.unwrap().text(), "7");
    let others = client(Roots::Pem(String::new()), Proxies::default());
    let refused = others.send(&request).await.unwrap_err().to_string();
    assert!(refused.contains("tls: ") && refused.contains("certificate"), "{refused}");
    request.insecure = true;
    assert_eq!(others.send(&request).await.unwrap().text(), "7");
    let wrong = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(Client::new(Hosts::default(), Proxies::default(), Roots::Pem(wrong.to_owned())).is_err());
}

struct NoSecrets;

impl SecretSource for NoSecrets {
    fn read<'a>(&'a self, _: &'a SecretName) -> BoxFuture<'a, Result<BTreeMap<String, String>, String>> {
        Box::pin(async { Err("none is needed".to_owned()) })
    }
}

/// The first measurement of a metric.
fn first(metric: serde_json::Value) -> Work {
    Work {
        metric: Resolved(serde_json::from_value(metric).unwrap()),
        task: Task::Start,
        measurement: None,
        number: 1,
        no_data: None,
        redactor: Redactor::default(),
    }
}

#[tokio::test]
async fn a_web_metric_is_measured_over_tls_with_a_private_authority_or_without_any_check_if_it_says_so() {
    let port = secure_server().await;
    let measured = async |roots: Roots, insecure: bool| {
        let web = json!({"url": format!("https://localhost:{port}/"), "insecure": insecure});
        let metric = json!({"name": "m", "successCondition": "result == 7", "provider": {"web": web}});
        let work = first(metric);
        let client = client(roots, Proxies::default());
        let report = measure(&run(), &work, &client, &NoSecrets, &Surroundings::default(), Clock::system()).await;
        let measurement = report.measurement;
        (
            measurement.phase.text().to_owned(),
            measurement.value.text().to_owned(),
            measurement.message.text().to_owned(),
        )
    };
    let good = ("Successful".to_owned(), "7".to_owned(), String::new());
    assert_eq!(measured(Roots::Pem(AUTHORITY.to_owned()), false).await, good);
    assert_eq!(measured(Roots::Pem(String::new()), true).await, good);
    let (phase, value, message) = measured(Roots::Pem(String::new()), false).await;
    assert_eq!((phase.as_str(), value.as_str()), ("Error", ""));
    assert!(
        message.starts_with(&format!("Get \"https://localhost:{port}/\": ")) && message.contains("certificate"),
        "{message}"
    );
}

#[tokio::test]
async fn a_proxy_is_tunnelled_through_for_tls() {
    let port = secure_server().await;
    let request = Request::new(Method::Get, "https://metrics.example/");
    let through = |proxy: u16| Proxies { https: Some(format!("127.0.0.1:{proxy}")), ..Proxies::default() };
    let open = through(tunnel(port, "200 Connection established").await);
    let answer = client(Roots::Pem(AUTHORITY.to_owned()), open).send(&request).await.unwrap();
    assert_eq!(answer.text(), "7");
    let closed = through(tunnel(port, "407 Proxy Authentication Required").await);
    let refused = client(Roots::Pem(AUTHORITY.to_owned()), closed).send(&request).await.unwrap_err();
    assert_eq!(refused.reason, "the proxy refused with status 407");
}

/// Secrets that break, or never come.
struct Trouble {
    hangs: bool,
}

impl SecretSource for Trouble {
    fn read<'a>(&'a self, _: &'a SecretName) -> BoxFuture<'a, Result<BTreeMap<String, String>, String>> {
        let hangs = self.hangs;
        Box::pin(async move {
            assert!(hangs, "a panic in the middle of a measurement");
            std::future::pending().await
        })
    }
}

async fn troubled(hangs: bool) -> String {
    let metric = json!({"name": "m", "provider": {"datadog": {"query": "q"}}});
    let work = first(metric);
    let client = client(Roots::Pem(String::new()), Proxies::default());
    let clock = Clock::simulated(crate::dialog::now());
    let report = measure(&run(), &work, &client, &Trouble { hangs }, &Surroundings::default(), clock).await;
    assert_eq!(report.measurement.phase.text(), "Error");
    report.measurement.message.text().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_panics_or_hangs_spoils_only_its_own_measurement() {
    assert_eq!(troubled(false).await, "the provider broke down; this is a defect of the controller");
    assert_eq!(troubled(true).await, "the measurement took longer than 120 seconds");
}
