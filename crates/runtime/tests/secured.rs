//! The server behind TLS, over real sockets: certificates that are renewed, that are broken, and long questions.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tidegate_runtime::admin::{Admin, Answer, Pages};
use tidegate_runtime::certificates::Certificates;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificates").join(name)
}

/// Puts a certificate into a folder, as a Secret is mounted.
fn mount(folder: &Path, name: &str) {
    std::fs::copy(kept(&format!("{name}.key")), folder.join("tls.key")).unwrap();
    std::fs::copy(kept(&format!("{name}.pem")), folder.join("tls.crt")).unwrap();
}

/// Asks with trust in this one certificate; an error when the server shows another.
async fn ask(address: SocketAddr, trusted: &str, body: &str) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(kept(&format!("{trusted}.pem"))).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    let head = format!("POST /ask HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

async fn start(folder: &Path) -> Admin {
    let certificates = Certificates::read(folder).unwrap();
    tokio::spawn(certificates.clone().follow());
    let pages = Pages::new().post("/ask", |text| Answer::text(StatusCode::OK, format!("{} bytes", text.len())));
    Admin::start_secured(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), pages, certificates).await.unwrap()
}

#[tokio::test]
async fn a_renewed_certificate_is_shown_and_a_broken_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    mount(folder.path(), "first");
    let admin = start(folder.path()).await;
    let address = admin.address();
    assert!(ask(address, "first", "hello").await.unwrap().ends_with("5 bytes"));
    assert!(ask(address, "second", "hello").await.is_err(), "it shows the first");

    // When the key does not fit, then the one before goes on.
    std::fs::copy(kept("second.key"), folder.path().join("tls.key")).unwrap();
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(ask(address, "first", "hello").await.unwrap().ends_with("5 bytes"));

    // When both are renewed, then connections from now on see it, without a restart.
    mount(folder.path(), "second");
    let begun = Instant::now();
    while ask(address, "second", "hello").await.is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the new certificate is not shown");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    admin.stop().await;
}

#[tokio::test]
async fn a_question_may_be_as_long_as_two_objects_and_no_longer() {
    let folder = tempfile::tempdir().unwrap();
    mount(folder.path(), "first");
    let admin = start(folder.path()).await;
    let long = "x".repeat(4 << 20);
    assert!(ask(admin.address(), "first", &long).await.unwrap().ends_with("4194304 bytes"));
    let too_long = "x".repeat((8 << 20) + 1);
    // The server may answer or hang up while the rest is still being sent.
    let answer = ask(admin.address(), "first", &too_long).await.unwrap_or_default();
    assert!(!answer.contains("200 OK"), "{answer}");
    admin.stop().await;
}

#[tokio::test]
async fn what_does_not_speak_tls_gets_no_answer_and_is_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    mount(folder.path(), "first");
    let admin = start(folder.path()).await;
    let mut plain = TcpStream::connect(admin.address()).await.unwrap();
    plain.write_all(b"GET /ask HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP"), "answered without TLS");
    assert!(ask(admin.address(), "first", "hello").await.unwrap().ends_with("5 bytes"));
    admin.stop().await;
}

#[test]
fn a_missing_certificate_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let error = Certificates::read(folder.path()).unwrap_err().to_string();
    assert!(error.contains("tls.crt"), "{error}");
}
