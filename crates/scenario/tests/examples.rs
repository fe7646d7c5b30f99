//! The examples are played as their pages tell it: every command in the order of the page, in virtual time on the embedded
//! cluster, and every output compared byte for byte. `UPDATE_EXAMPLES=1` writes what was seen into the pages.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, as tests do")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;
use tidegate_cli::Streams;
use tidegate_controller::Options;
use tidegate_runtime::lease::Leadership;
use tidegate_sim::{Setting, World};

/// What passes after every command that changes something, so that the next one sees what came of it.
const BETWEEN: Duration = Duration::from_secs(10);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// Two clusters; most examples use the first alone.
struct Clusters {
    world: World,
    primary: World,
    user: Client,
    far: Client,
    /// Where the page is.
    place: PathBuf,
}

async fn define(client: &Client, crds: Vec<Value>) {
    let api: Api<DynamicObject> =
        Api::all_with(client.clone(), &resource("apiextensions.k8s.io/v1", "CustomResourceDefinition"));
    for crd in crds {
        api.create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
    }
}

impl Clusters {
    async fn new(place: PathBuf) -> Self {
        let mut world = World::empty(Setting::new(0));
        let primary = World::empty(Setting::new(1));
        let (user, far) = (world.client("user"), primary.client("user"));
        define(&user, tidegate_install::crds()).await;
        define(&user, tidegate_sim::istio::crds()).await;
        define(&far, tidegate_sim::istio::crds()).await;
        world.add_nodes();
        world.add_manager();
        let way = primary.client("rollouts-controller");
        let connect: tidegate_controller::Connect = Arc::new(move |config| {
            let known = config.cluster_url.host() == Some("primary.example");
            Box::pin(std::future::ready(known.then(|| way.clone()).ok_or_else(|| "nobody answers".to_owned())))
        });
        let options = Options { connect, ..Options::default() };
        let (client, clock) = (world.client("rollouts-controller"), world.clock());
        let controller = tidegate_controller::run(client, clock, options, Leadership::alone(), std::future::pending());
        world.add(controller);
        let clusters = Self { world, primary, user, far, place };
        clusters.world.pass(BETWEEN).await;
        clusters
    }

    /// What a command prints.
    async fn run(&self, line: &str) -> String {
        let words = split(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["sleep", seconds] => {
                self.world.pass(Duration::from_secs(seconds.parse().unwrap())).await;
                String::new()
            }
            ["kubectl", "argo", "rollouts", arguments @ ..] => self.plugin(arguments).await,
            ["kubectl", "--context", "primary", rest @ ..] => self.kubectl(&self.far, rest).await,
            ["kubectl", rest @ ..] => self.kubectl(&self.user, rest).await,
            _ => panic!("{line}: no such command in an example"),
        }
    }

    async fn plugin(&self, arguments: &[&str]) -> String {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut streams = Streams { out: &mut out, err: &mut err, out_is_terminal: false, err_is_terminal: false };
        let words = std::iter::once("kubectl-argo-rollouts").chain(arguments.iter().copied());
        let words: Vec<OsString> = words.map(OsString::from).collect();
        let client = self.user.clone();
        tidegate_cli::run_on(client, self.world.clock(), "default", &words, &mut streams).await;
        if !matches!(arguments.first(), Some(&("get" | "status" | "why" | "plan"))) {
            self.world.pass(BETWEEN).await;
        }
        out.extend(err);
        String::from_utf8(out).unwrap()
    }

    async fn kubectl(&self, client: &Client, words: &[&str]) -> String {
        match words {
            ["apply", "-f", file] => {
                let told = self.apply(client, file).await;
                self.world.pass(BETWEEN).await;
                told
            }
            ["patch", kind, name, "--type", "merge", "-p", patch] => {
                let patch: Value = serde_json::from_str(patch).unwrap();
                let api = api(client, kind);
                api.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
                self.world.pass(BETWEEN).await;
                format!("{}/{name} patched\n", full_name(kind))
            }
            ["get", kind, name, "-o", path] => {
                let path = path.strip_prefix("jsonpath=").unwrap();
                let object = serde_json::to_value(api(client, kind).get(name).await.unwrap()).unwrap();
                let found = jsonpath(&object, path.trim_matches(['{', '}']));
                let shown: Vec<String> =
                    found.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect();
                format!("{}\n", shown.join(" "))
            }
            _ => panic!("kubectl {}: no such command in an example", words.join(" ")),
        }
    }

    async fn apply(&self, client: &Client, file: &str) -> String {
        let text = std::fs::read_to_string(self.place.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut told = String::new();
        for document in text.split("\n---\n") {
            let object: Value = serde_saphyr::from_str(document).unwrap();
            let (kind, name) = (object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap());
            let resource = resource(object["apiVersion"].as_str().unwrap(), kind);
            let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &resource);
            let what = if api.get_opt(name).await.unwrap().is_some() {
                api.patch(name, &PatchParams::default(), &Patch::Merge(&object)).await.unwrap();
                "configured"
            } else {
                api.create(&PostParams::default(), &serde_json::from_value(object.clone()).unwrap()).await.unwrap();
                "created"
            };
            let group = if resource.group.is_empty() { String::new() } else { format!(".{}", resource.group) };
            told.push_str(&format!("{}{group}/{name} {what}\n", kind.to_lowercase()));
        }
        told
    }
}

fn api(client: &Client, kind: &str) -> Api<DynamicObject> {
    let resource = match kind {
        "rollout" => resource("argoproj.io/v1alpha1", "Rollout"),
        "virtualservice" => resource("networking.istio.io/v1alpha3", "VirtualService"),
        "destinationrule" => resource("networking.istio.io/v1alpha3", "DestinationRule"),
        _ => panic!("{kind}: no such kind in an example"),
    };
    Api::namespaced_with(client.clone(), "default", &resource)
}

fn full_name(kind: &str) -> String {
    let group = if kind == "rollout" { "argoproj.io" } else { "networking.istio.io" };
    format!("{kind}.{group}")
}

/// Words of a line; quotes keep one together.
fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// As much of kubectl's JSONPath as the pages use: `.a.b[0].c[*]`; a dot within a name is written `\.`.
fn jsonpath<'a>(object: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![object];
    for step in path.replace("\\.", "\u{0}").replace('[', ".[").split('.').filter(|step| !step.is_empty()) {
        let step = step.replace('\u{0}', ".");
        found = match step.as_str() {
            "[*]" => found.iter().flat_map(|value| value.as_array().into_iter().flatten()).collect(),
            index if index.starts_with('[') => {
                let index: usize = index.trim_matches(['[', ']']).parse().unwrap();
                found.iter().filter_map(|value| value.get(index)).collect()
            }
            name => found.iter().filter_map(|value| value.get(name)).collect(),
        };
    }
    found
}

/// The page with what was seen below every command.
async fn play(place: PathBuf, page: &str) -> String {
    let clusters = Clusters::new(place).await;
    let (mut seen, mut is_console) = (String::new(), false);
    for line in page.lines() {
        match line {
            "```console" => is_console = true,
            "```" => is_console = false,
            _ => {}
        }
        let command = line.strip_prefix("$ ").filter(|_| is_console);
        if is_console && command.is_none() && line != "```console" {
            continue;
        }
        seen.push_str(line);
        seen.push('\n');
        if let Some(command) = command {
            seen.push_str(&clusters.run(command.split(" # ").next().unwrap().trim_end()).await);
        }
    }
    assert_eq!(clusters.primary.journal().elapsed(), clusters.world.journal().elapsed(), "one time for both");
    seen
}

fn check(example: &str) {
    let place = folder().join(example);
    let page = std::fs::read_to_string(place.join("README.md")).unwrap();
    assert!(page.matches("\n$ ").count() > 5, "{example} shows nothing");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let seen = runtime.block_on(play(place.clone(), &page));
    if std::env::var_os("UPDATE_EXAMPLES").is_some() {
        std::fs::write(place.join("README.md"), &seen).unwrap();
        return;
    }
    for (number, (told, seen)) in page.lines().zip(seen.lines()).enumerate() {
        assert_eq!(seen, told, "examples/{example}/README.md, line {}", number + 1);
    }
    assert_eq!(seen, page, "examples/{example}/README.md");
}

#[test]
fn the_example_without_a_mesh_does_what_its_page_says() {
    check("1-replicas-only");
}

#[test]
fn the_example_with_hosts_does_what_its_page_says() {
    check("2-istio-host-level");
}

#[test]
fn the_example_with_subsets_does_what_its_page_says() {
    check("3-istio-subset-level");
}

#[test]
fn the_example_with_three_protocols_does_what_its_page_says() {
    check("4-istio-http-tls-tcp");
}

#[test]
fn the_example_with_connections_does_what_its_page_says() {
    check("5-istio-tcp");
}

#[test]
fn the_example_with_two_clusters_does_what_its_page_says() {
    check("6-istio-multicluster");
}

#[test]
fn every_example_folder_is_played() {
    let mut found: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("README.md").is_file())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    found.sort();
    let source = include_str!("examples.rs");
    for example in &found {
        assert!(source.contains(&format!("check(\"{example}\")")), "examples/{example} is not played");
    }
    assert_eq!(found.len(), 6);
}
