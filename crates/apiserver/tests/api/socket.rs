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
