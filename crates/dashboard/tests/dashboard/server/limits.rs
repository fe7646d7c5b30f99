//! Too much, too slow, too many.

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::http::{ask, get, open};
use crate::world::{World, canary, options};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_and_heads_that_are_too_long_are_refused() {
    let world = World::still().await;
    world.create("default", canary("web")).await;
    let server = world.dashboard(options()).await;
    let path = "/api/v1/rollouts/default/web/promote";
    let reply = ask(server.address(), "PUT", path, &[], vec![b' '; 1 << 20]).await;
    assert_eq!(reply.status, 413);
    let reply = ask(server.address(), "GET", "/api/v1/version", &[("x-long", &"x".repeat(200 << 10))], "").await;
    assert_eq!(reply.status, 431);
    assert_eq!(get(server.address(), "/api/v1/version").await.status, 200, "others are served");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_streams_are_served_and_more_are_refused() {
    let world = World::still().await;
    world.create("default", canary("web")).await;
    let server = world.dashboard(options()).await;
    let mut lives = Vec::new();
    for _ in 0..1000 {
        let live = open(server.address(), "GET", "/api/v1/rollouts/default/web/info/watch?repeat=false", &[], "").await;
        assert_eq!(live.status, 200);
        lives.push(live);
    }
    for live in &mut lives {
        live.line().await.unwrap();
    }
    let mut refused = None;
    for _ in 0..600 {
        let live = open(server.address(), "GET", "/api/v1/summaries/watch", &[], "").await;
        if live.status != 200 {
            refused = Some(live.status);
            break;
        }
        lives.push(live);
    }
    assert_eq!(refused, Some(503), "there is an end");
    assert_eq!(get(server.address(), "/api/v1/version").await.status, 200, "others are served");
    drop(lives);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_does_not_read_holds_up_nobody_else() {
    let world = World::still().await;
    let mut rollout = canary("web");
    rollout["metadata"]["annotations"] = serde_json::json!({"note": "x".repeat(200 << 10)});
    world.create("default", rollout).await;
    let server = world.dashboard(options()).await;
    let mut slow = TcpStream::connect(server.address()).await.unwrap();
    let request = format!("GET /api/v1/rollouts/default/web/info/watch HTTP/1.1\r\nHost: {}\r\n\r\n", server.address());
    slow.write_all(request.as_bytes()).await.unwrap();
    let mut live = open(server.address(), "GET", "/api/v1/summaries/watch", &[], "").await;
    live.line().await.unwrap();
    world.create("default", canary("cart")).await;
    while !live.message("\n").await.unwrap().contains("cart") {}
    server.stop().await;
}
