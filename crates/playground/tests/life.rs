//! Every scenario as a newcomer plays it, by the commands that the playground itself names, over real connections.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, as tests do")]

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;
use tidegate_cli::{Outcome, Streams, run_on};
use tidegate_clock::Clock;
use tidegate_playground::{Options, Playground, Ports, Scenario, Speed};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Long enough for whatever is waited for, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(90);

fn options(scenario: Scenario, name: &str) -> Options {
    Options {
        scenario,
        speed: Speed::new(10.0).unwrap(),
        ports: Ports { api: 0, app: 0, dashboard: 0 },
        folder: std::env::temp_dir().join(format!("tidegate-playground-test-{name}-{}", std::process::id())),
        dir: None,
        version: "test".to_owned(),
    }
}

struct Player {
    playground: Playground,
}

impl Player {
    async fn start(scenario: Scenario) -> Self {
        let player = Self { playground: Playground::start(options(scenario, scenario.name())).await.unwrap() };
        player.is_up().await;
        player
    }

    /// Waits for the first version, and for every proxy to know it.
    async fn is_up(&self) {
        self.until(|rollout| rollout["status"]["phase"] == "Healthy", "the first version to be healthy").await;
        tokio::time::timeout(PATIENCE, async {
            // Requests come by themselves as soon as they can be answered.
            while self.playground.totals().requests == 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await
        .unwrap();
    }

    async fn object(&self, group: &str, version: &str, kind: &str, name: &str) -> Value {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = Api::namespaced_with(self.playground.client(), "default", &resource);
        serde_json::to_value(api.get(name).await.unwrap()).unwrap()
    }

    async fn rollout(&self) -> Value {
        self.object("argoproj.io", "v1alpha1", "Rollout", "web").await
    }

    async fn until(&self, is_there: impl Fn(&Value) -> bool, what: &str) {
        let waited = tokio::time::timeout(PATIENCE, async {
            while !is_there(&self.rollout().await) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        if waited.await.is_err() {
            panic!("waited in vain for {what}: {:#}", self.rollout().await["status"]);
        }
    }

    /// Runs a command of the plugin, as it is typed.
    async fn plugin(&self, command: &str) -> String {
        let words: Vec<OsString> = command.split(' ').map(OsString::from).collect();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut streams = Streams { out: &mut out, err: &mut err, out_is_terminal: false, err_is_terminal: false };
        let outcome = run_on(self.playground.client(), Clock::system(), "default", &words, &mut streams).await;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(outcome, Outcome::Success, "{command}: {}", text(&err));
        text(&out)
    }

    /// Asks the application, with one more header line perhaps.
    async fn ask(&self, header: &str) -> String {
        self.get(self.playground.app(), "/", header).await
    }

    async fn get(&self, from: SocketAddr, path: &str, header: &str) -> String {
        let mut stream = TcpStream::connect(from).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{header}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    async fn versions(&self, requests: usize, header: &str) -> std::collections::BTreeMap<String, usize> {
        let mut found = std::collections::BTreeMap::new();
        for _ in 0..requests {
            let answer = self.ask(header).await;
            let by_http = answer.split("x-version: ").nth(1).and_then(|rest| rest.split("\r\n").next());
            let by_tcp = answer.strip_prefix("version ").and_then(|rest| rest.split(" (").next());
            *found.entry(by_http.or(by_tcp).unwrap_or("none").to_owned()).or_default() += 1;
        }
        found
    }

    /// Waits until exactly these versions answer. The proxies hear of a change a moment after the status tells of it, as they
    /// do in a real mesh, and a busy machine makes the moment longer.
    async fn served(&self, requests: usize, header: &str, expected: &[&str]) {
        let mut found = self.versions(requests, header).await;
        let waited = tokio::time::timeout(PATIENCE, async {
            while !found.keys().map(String::as_str).eq(expected.iter().copied()) {
                tokio::time::sleep(Duration::from_millis(50)).await;
                found = self.versions(requests, header).await;
            }
        });
        let in_time = waited.await.is_ok();
        assert!(in_time, "{expected:?} should answer, not {found:?}");
    }

    async fn image(&self, tag: &str) {
        self.plugin(&format!("argo set image web web=demo/web:{tag}")).await;
    }

    async fn paused(&self, tag: &str) {
        let image = format!("demo/web:{tag}");
        let is_paused = move |rollout: &Value| {
            rollout["status"]["phase"] == "Paused"
                && rollout["spec"]["template"]["spec"]["containers"][0]["image"] == image.as_str()
        };
        self.until(is_paused, "a pause").await;
    }

    async fn healthy_with(&self, step: &str) {
        let is_done = |rollout: &Value| {
            let status = &rollout["status"];
            status["phase"] == "Healthy" && status["stableRS"] == status["currentPodHash"]
        };
        self.until(is_done, step).await;
    }

    /// A bad version that is taken back by itself, and the way back to the one that works.
    async fn survives_a_bad_version(&self) {
        self.until(|rollout| rollout["status"]["phase"] == "Degraded", "the analysis to take the bad version back")
            .await;
        let message = self.rollout().await["status"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("success-rate"), "{message}");
        assert!(self.playground.totals().failed > 0, "its failures are counted");
        self.plugin("argo undo web --to-stable").await;
        self.healthy_with("the version that works").await;
    }

    /// The version that works, by the ReplicaSet that the status calls stable.
    async fn stable(&self) -> String {
        let hash = self.rollout().await["status"]["stableRS"].as_str().unwrap().to_owned();
        let set = self.object("apps", "v1", "ReplicaSet", &format!("web-{hash}")).await;
        let image = set["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap().to_owned();
        image.rsplit(':').next().unwrap().to_owned()
    }

    async fn aborts(&self) {
        self.image("4.0").await;
        self.paused("4.0").await;
        self.plugin("argo abort web").await;
        self.until(|rollout| rollout["status"]["phase"] == "Degraded", "the abort").await;
        let stable = self.stable().await;
        self.served(60, "", &[&stable]).await;
    }
}

async fn canary_with_weights(scenario: Scenario) {
    let player = Player::start(scenario).await;
    player.served(5, "", &["1.0"]).await;
    player.image("2.0").await;
    player.paused("2.0").await;
    assert!(player.plugin("argo why web").await.contains("promote"), "why says what to do");
    player.served(150, "", &["1.0", "2.0"]).await;
    player.plugin("argo promote web").await;
    player.healthy_with("version 2.0").await;
    assert_eq!(player.playground.totals().failed, 0, "no request fails because of a rollout");
    player.image("3.0-bad").await;
    player.paused("3.0-bad").await;
    player.survives_a_bad_version().await;
    player.aborts().await;
    let totals = player.playground.stop().await.unwrap();
    assert!(totals.requests > 100, "{totals:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_between_services_goes_out_a_bad_one_comes_back_and_an_abort_holds() {
    canary_with_weights(Scenario::Host).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_between_subsets_goes_out_a_bad_one_comes_back_and_an_abort_holds() {
    canary_with_weights(Scenario::Subset).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blue_green_is_looked_at_before_the_switch_and_a_bad_version_is_switched_back() {
    let player = Player::start(Scenario::BlueGreen).await;
    player.image("2.0").await;
    player.paused("2.0").await;
    player.served(5, "x-preview: yes\r\n", &["2.0"]).await;
    player.served(5, "", &["1.0"]).await;
    player.plugin("argo promote web").await;
    player.healthy_with("version 2.0").await;
    player.image("3.0-bad").await;
    player.paused("3.0-bad").await;
    player.plugin("argo promote web").await;
    player.survives_a_bad_version().await;
    player.aborts().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn testers_reach_the_canary_by_their_header_before_anybody_else() {
    let player = Player::start(Scenario::Header).await;
    player.image("2.0").await;
    player.paused("2.0").await;
    player.served(10, "x-tester: yes\r\n", &["2.0"]).await;
    player.served(10, "", &["1.0"]).await;
    player.plugin("argo promote web").await;
    player.healthy_with("version 2.0").await;
    player.aborts().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tcp_connections_are_shared_out_too() {
    let player = Player::start(Scenario::Tcp).await;
    player.image("2.0").await;
    player.paused("2.0").await;
    player.served(60, "", &["1.0", "2.0"]).await;
    player.plugin("argo promote web").await;
    player.healthy_with("version 2.0").await;
    player.aborts().await;
}

/// A busy browser opened a connection for the script of the page and was slow to ask; it got a line of the application instead,
/// and the page waited for requests for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_that_is_slow_to_ask_gets_its_page_on_the_port_of_tcp_connections() {
    let player = Player::start(Scenario::Tcp).await;
    let mut browser = TcpStream::connect(player.playground.app()).await.unwrap();
    let silence = tokio::time::timeout(Duration::from_millis(600), browser.readable()).await;
    assert!(silence.is_err(), "nothing is said to a client that did not speak yet");
    browser
        .write_all(b"GET /.playground/page.js HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut script = String::new();
    browser.read_to_string(&mut script).await.unwrap();
    assert!(script.starts_with("HTTP/1.1 200 OK") && script.contains("text/javascript"), "{script}");

    for said in ["", "hello\n"] {
        let mut client = TcpStream::connect(player.playground.app()).await.unwrap();
        client.write_all(said.as_bytes()).await.unwrap();
        client.shutdown().await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(
            answer.starts_with("version 1.0 (pod web-"),
            "who said {said:?} is told who took the connection: {answer:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_experiment_runs_first_and_a_bad_candidate_ends_there() {
    let player = Player::start(Scenario::Experiment).await;
    player.image("2.0").await;
    player.paused("2.0").await;
    assert_eq!(player.rollout().await["status"]["currentStepIndex"], 2, "the experiment was successful");
    player.plugin("argo promote web").await;
    player.healthy_with("version 2.0").await;
    player.image("3.0-bad").await;
    player.until(|rollout| rollout["status"]["phase"] == "Degraded", "the experiment to find the bad version").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_state_is_kept_in_a_folder_and_a_canary_goes_on_where_it_was() {
    let dir = std::env::temp_dir().join(format!("tidegate-playground-kept-{}", std::process::id()));
    let with_dir = |scenario: Scenario, dir: &PathBuf| Options { dir: Some(dir.clone()), ..options(scenario, "kept") };
    let player = Player { playground: Playground::start(with_dir(Scenario::Host, &dir)).await.unwrap() };
    player.is_up().await;
    player.image("2.0").await;
    player.paused("2.0").await;
    let before = player.rollout().await;
    player.playground.stop().await.unwrap();

    let other = Playground::start(with_dir(Scenario::Tcp, &dir)).await.err().unwrap().to_string();
    assert!(other.contains("add --scenario host"), "{other}");

    let player = Player { playground: Playground::start(with_dir(Scenario::Host, &dir)).await.unwrap() };
    assert!(player.playground.is_restored());
    let after = player.rollout().await;
    assert_eq!((&after["metadata"]["uid"], &after["status"]), (&before["metadata"]["uid"], &before["status"]));
    player.plugin("argo promote web").await;
    player.healthy_with("version 2.0").await;
    player.playground.stop().await.unwrap();
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_and_its_numbers_are_served_and_nothing_is_left_behind() {
    let options = options(Scenario::Host, "page");
    let folder = options.folder.clone();
    let player = Player { playground: Playground::start(options).await.unwrap() };
    player.is_up().await;
    let page = player.ask("Accept: text/html\r\n").await;
    assert!(
        page.contains("content-security-policy: default-src 'none'") && page.contains("<h1>Who answers</h1>"),
        "{page}"
    );
    assert!(player.ask("Accept: application/json\r\n").await.contains("\"version\":\"1.0\""));
    assert!(folder.join("kubeconfig").is_file() && folder.join("demo.yaml").is_file());
    let playground = &player.playground;
    let addresses = [playground.api(), playground.app(), playground.dashboard()];
    let listed = player.get(playground.dashboard(), "/rollouts/api/v1/rollouts/default/info", "").await;
    assert!(listed.contains("\"name\":\"web\""), "{listed}");
    player.playground.stop().await.unwrap();
    assert!(!folder.exists());
    for address in addresses {
        assert!(TcpStream::connect(address).await.is_err(), "{address} is free again");
    }
}
