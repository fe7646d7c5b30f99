//! The listener, over a real socket.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tidegate_apiserver::Listener;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{config_map, server};

async fn say(listener: &Listener, request: &str) -> String {
    let mut stream = TcpStream::connect(listener.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn the_listener_serves_those_with_the_token_and_nobody_else() {
    let server = server();
    let listener = Listener::start(server.clone(), 0, "secret").await.unwrap();
    let config = Kubeconfig::from_yaml(&listener.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    let maps: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
        kube::Api::default_namespaced(Client::try_from(config).unwrap());

    maps.create(&kube::api::PostParams::default(), &config_map("a")).await.unwrap();
    assert!(maps.get("a").await.is_ok());

    let tail = "Host: x\r\nConnection: close\r\n\r\n";
    let none = say(&listener, &format!("GET /api HTTP/1.1\r\n{tail}")).await;
    assert!(none.starts_with("HTTP/1.1 401") && none.contains("\"reason\":\"Unauthorized\""), "{none}");
    let wrong = say(&listener, &format!("GET /api HTTP/1.1\r\nAuthorization: Bearer secreT\r\n{tail}")).await;
    assert!(wrong.starts_with("HTTP/1.1 401"), "{wrong}");
    let trick =
        say(&listener, &format!("GET /api/v1/../../etc HTTP/1.1\r\nAuthorization: Bearer secret\r\n{tail}")).await;
    assert!(trick.starts_with("HTTP/1.1 404"), "{trick}");
    listener.stop().await;
}

/// Sends raw bytes and reads until the other side closes or says nothing more.
async fn shout(listener: &Listener, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(listener.address()).await.unwrap();
    // The listener may hang up in the middle of it.
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(std::time::Duration::from_secs(5), stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn garbage_on_the_socket_is_refused_and_the_next_client_is_served() {
    let server = server();
    let listener = Listener::start(server.clone(), 0, "secret").await.unwrap();
    let before = server.revision();
    let with_token = "Host: x\r\nAuthorization: Bearer secret\r\nConnection: close\r\n";
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), "HTTP/1.1 400"),
        (b"GET\r\n\r\n".to_vec(), "HTTP/1.1 400"),
        ([0_u8; 4096].to_vec(), "HTTP/1.1 400"),
        (format!("GET /api/v1/\0 HTTP/1.1\r\n{with_token}\r\n").into_bytes(), "HTTP/1.1 400"),
        (format!("GET /{} HTTP/1.1\r\n{with_token}\r\n", "a".repeat(100_000)).into_bytes(), "HTTP/1.1 4"),
        (format!("GET /api HTTP/1.1\r\nX: {}\r\n{with_token}\r\n", "a".repeat(1_000_000)).into_bytes(), "HTTP/1.1 431"),
        (format!("GET /api/v1//pods HTTP/1.1\r\n{with_token}\r\n").into_bytes(), "HTTP/1.1 404"),
        (format!("GET /api/v1/namespaces/%2e%2e/pods HTTP/1.1\r\n{with_token}\r\n").into_bytes(), "HTTP/1.1 404"),
        (format!("GET /api/v1/namespaces/a%2Fb/pods HTTP/1.1\r\n{with_token}\r\n").into_bytes(), "HTTP/1.1 404"),
        (
            format!("POST /api/v1/namespaces HTTP/1.1\r\n{with_token}Content-Length: 2\r\n\r\n{{]").into_bytes(),
            "HTTP/1.1 400",
        ),
        (
            format!(
                "POST /api/v1/namespaces HTTP/1.1\r\n{with_token}Content-Length: 9000000\r\n\r\n{}",
                " ".repeat(4_000_000)
            )
            .into_bytes(),
            "HTTP/1.1 413",
        ),
        (b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}".to_vec(), "HTTP/1.1 401"),
        (b"GET /api HTTP/1.1\r\nHost: x\r\nAuthorization: Basic c2VjcmV0\r\n\r\n".to_vec(), "HTTP/1.1 401"),
        (b"GET /api HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \r\n\r\n".to_vec(), "HTTP/1.1 401"),
    ];
    for (bytes, expected) in cases {
        let answer = shout(&listener, &bytes).await;
        let shown: String = String::from_utf8_lossy(&bytes).chars().take(60).collect();
        assert!(answer.starts_with(expected), "{shown:?}: {:?}", answer.chars().take(200).collect::<String>());
    }
    assert_eq!(server.revision(), before);

    // Two requests in one breath are answered one after the other.
    let one = "GET /version HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n";
    let answer = shout(&listener, format!("{one}\r\n{one}Connection: close\r\n\r\n").as_bytes()).await;
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 2, "{answer}");
    listener.stop().await;
}

#[tokio::test]
async fn over_tls_the_kubeconfig_is_all_that_a_client_needs() {
    let server = server();
    let listener = Listener::start_tls(server.clone(), 0, "secret").await.unwrap();
    let read = Kubeconfig::from_yaml(&listener.kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(read.clone(), &options).await.unwrap();
    let maps: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
        kube::Api::default_namespaced(Client::try_from(config).unwrap());
    maps.create(&kube::api::PostParams::default(), &config_map("a")).await.unwrap();
    assert!(maps.get("a").await.is_ok());

    // Another token is refused with a status, another authority is not believed.
    let mut config = Config::from_custom_kubeconfig(read.clone(), &options).await.unwrap();
    config.auth_info.token = Some("secreT".to_owned().into());
    let refused = Client::try_from(config).unwrap().list_api_groups().await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 401 && status.reason == "Unauthorized"));
    let other = Listener::start_tls(server.clone(), 0, "secret").await.unwrap();
    let mut config = Config::from_custom_kubeconfig(read, &options).await.unwrap();
    config.cluster_url = format!("https://{}", other.address()).parse().unwrap();
    assert!(!matches!(Client::try_from(config).unwrap().list_api_groups().await, Ok(_) | Err(kube::Error::Api(_))));

    // Who speaks plain HTTP, or nothing, does not keep others out.
    let plain = shout(&listener, b"GET /api HTTP/1.1\r\n\r\n").await;
    assert!(!plain.starts_with("HTTP/1.1 200"), "{plain}");
    assert!(maps.get("a").await.is_ok());
    listener.stop().await;
}

#[tokio::test]
async fn a_taken_port_is_told_apart_from_other_failures() {
    let first = Listener::start_tls(server(), 0, "secret").await.unwrap();
    let again = Listener::start_tls(server(), first.address().port(), "secret").await.unwrap_err();
    assert_eq!(again.kind(), std::io::ErrorKind::AddrInUse);
    let empty = Listener::start_tls(server(), 0, "").await.unwrap_err();
    assert_eq!(empty.kind(), std::io::ErrorKind::InvalidInput);
}

#[tokio::test]
async fn health_and_version_are_told_to_everybody() {
    let listener = Listener::start(server(), 0, "secret").await.unwrap();
    let tail = "Host: x\r\nConnection: close\r\n\r\n";
    for path in ["/healthz", "/livez", "/readyz", "/version"] {
        let answer = say(&listener, &format!("GET {path} HTTP/1.1\r\n{tail}")).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }
    let answer = say(&listener, &format!("GET /openapi/v3 HTTP/1.1\r\n{tail}")).await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
}
