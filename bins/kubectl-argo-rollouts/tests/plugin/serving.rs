//! `dashboard` as a program: where it listens, what it says, how it ends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command};

use serde_json::json;

use crate::world::{World, canary, steps};

/// A dashboard; it is killed if the test fails before it has ended.
struct Serving {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Serving {
    fn start(world: &World, arguments: &[&str]) -> Self {
        let mut child = world.start(&[&["dashboard"], arguments].concat());
        let said = BufReader::new(child.stderr.take().unwrap());
        Self { child, said }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn end(mut self) -> (Option<i32>, String) {
        Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        let code = self.child.wait().unwrap().code();
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        (code, rest)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

fn ask(port: u16, method: &str, path: &str, token: Option<&str>) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let token = token.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: localhost:{port}\r\n{token}Connection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_dashboard_serves_this_machine_until_it_is_ended_and_logs_who_did_what() {
    let world = World::new();
    world.rollout(&canary("web", steps(), json!({})));
    let port = free_port();
    let mut serving = Serving::start(&world, &["--port", &port.to_string()]);
    assert_eq!(serving.line(), format!("Argo Rollouts Dashboard is now available at http://localhost:{port}/rollouts"));
    assert!(ask(port, "GET", "/rollouts/", None).contains("<base href=\"/rollouts/\" />"));
    let list = ask(port, "GET", "/rollouts/api/v1/rollouts/default/info", None);
    assert!(list.contains("\"name\":\"web\""), "{list}");
    assert!(ask(port, "PUT", "/rollouts/api/v1/rollouts/default/web/abort", None).starts_with("HTTP/1.1 200"));
    assert_eq!(world.stored("rollouts/web")["status"]["abort"], true);
    let line = serving.line();
    assert!(
        line.contains("user=everybody") && line.contains("action=abort") && line.contains("rollout=default/web"),
        "{line}"
    );
    assert_eq!(serving.end().0, Some(0));
}

#[test]
fn a_token_is_sent_to_the_cluster_in_place_of_our_own() {
    let world = World::new();
    world.rollout(&canary("web", steps(), json!({})));
    world.refuse(|asked| {
        let named = |name: &str| asked.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let user = json!({"status": {"userInfo": {"username": named("authorization")}}});
        asked.path.ends_with("/selfsubjectreviews").then_some((201, user))
    });
    let port = free_port();
    let mut serving = Serving::start(&world, &["--port", &port.to_string(), "--auth-mode=token", "--root-path", "/"]);
    assert_eq!(serving.line(), format!("Argo Rollouts Dashboard is now available at http://localhost:{port}/"));
    assert!(ask(port, "GET", "/api/v1/summaries", None).starts_with("HTTP/1.1 401"));
    assert!(ask(port, "PUT", "/api/v1/rollouts/default/web/abort", Some("of-ann")).starts_with("HTTP/1.1 200"));
    let patch = world.asked().into_iter().find(|asked| asked.method == "PATCH").unwrap();
    let sent: Vec<&str> =
        patch.headers.iter().filter(|(name, _)| name == "authorization").map(|(_, value)| value.as_str()).collect();
    assert_eq!(sent, ["Bearer of-ann"]);
    let (code, log) = serving.end();
    assert_eq!(code, Some(0));
    assert!(log.contains("action=abort"), "{log}");
}

#[test]
fn a_busy_port_is_tried_a_few_times_and_then_named() {
    let world = World::new();
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = world.run(&["dashboard", "-p", &port]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(said.matches("failed listen: ").count(), 4, "{said}");
    assert!(said.contains(&format!("Error: listen tcp 127.0.0.1:{port}: ")) && said.contains("--port"), "{said}");
}

#[test]
fn whoever_opens_it_to_everybody_is_warned_and_bad_flags_are_named() {
    let world = World::new();
    let port = free_port().to_string();
    let mut serving = Serving::start(&world, &["--port", &port, "--address", "0.0.0.0"]);
    assert!(serving.line().starts_with("Warning: everybody who reaches this dashboard can change rollouts"));
    assert_eq!(serving.line(), format!("Argo Rollouts Dashboard is now available at http://localhost:{port}/rollouts"));
    serving.end();
    for (flags, text) in [
        (&["--auth-mode=oidc"][..], "Error: --auth-mode=oidc needs --oidc-issuer"),
        (&["--tls-certificates", "/nowhere"], "Error: --tls-certificates: /nowhere/tls.crt"),
    ] {
        let output = world.run(&[&["dashboard", "--port", &port], flags].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains(text), "{said}");
    }
}
