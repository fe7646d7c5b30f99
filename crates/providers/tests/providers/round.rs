//! Runs from beginning to end over real connections: what a controller does, in short.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::{BoxFuture, join_all};
use serde_json::{Value as Json, json};
use tidegate_analysis::{Observed, SecretState, Secrets, step};
use tidegate_api::analysis::{AnalysisRun, AnalysisRunStatus};
use tidegate_api::names::analysis_phase::is_completed;
use tidegate_api::wire::Text;
use tidegate_clock::Clock;
use tidegate_providers::client::Roots;
use tidegate_providers::{Client, Hosts, Proxies, SecretName, SecretSource, Surroundings, measure};

use crate::server::Server;

/// Secrets of the run's namespace.
struct Vault;

impl SecretSource for Vault {
    fn read<'a>(&'a self, secret: &'a SecretName) -> BoxFuture<'a, Result<BTreeMap<String, String>, String>> {
        let found = (secret.name == "vault").then(|| BTreeMap::from([("path".to_owned(), "json".to_owned())]));
        Box::pin(async move { found.ok_or_else(|| "not found".to_owned()) })
    }
}

async fn read(wanted: &BTreeSet<(String, String)>) -> Secrets {
    let mut secrets = Secrets::new();
    for (name, key) in wanted {
        let secret = SecretName { namespace: "team".to_owned(), name: name.clone() };
        let state = match Vault.read(&secret).await {
            Ok(content) => content.get(key).cloned().map_or_else(|| SecretState::no_key(name, key), SecretState::Found),
            Err(_) => SecretState::no_secret(name),
        };
        secrets.insert((name.clone(), key.clone()), state);
    }
    secrets
}

/// Plays until the run is over.
async fn play(spec: Json) -> AnalysisRunStatus {
    let object = json!({"metadata": {"name": "run", "namespace": "team", "uid": "u"}, "spec": spec});
    let mut run: AnalysisRun = serde_json::from_value(object).unwrap();
    let client = Client::new(Hosts::default(), Proxies::default(), Roots::Pem(String::new())).unwrap();
    let (clock, surroundings) = (Clock::system(), Surroundings::default());
    let (mut reports, none) = (Vec::new(), BTreeMap::new());
    for _ in 0..50 {
        let mut secrets = Secrets::new();
        let look = |secrets: &Secrets, run: &AnalysisRun, reports: &[_]| {
            step(&Observed { run, secrets, reports, under_way: &none, nudged: &BTreeSet::new(), now: clock.now() })
        };
        let mut next = look(&secrets, &run, &reports);
        if !next.secrets.is_empty() {
            secrets = read(&next.secrets).await;
            next = look(&secrets, &run, &reports);
        }
        run.status = next.status.or(run.status);
        let status = run.status.clone().unwrap_or_default();
        if is_completed(status.phase.text()) {
            return status;
        }
        let calls = next.work.iter().map(|work| measure(&run, work, &client, &Vault, &surroundings, clock));
        reports = join_all(calls).await;
        if let (Some(at), true) = (next.wake_at, reports.is_empty()) {
            tokio::time::sleep(clock.until(at)).await;
        }
    }
    panic!("the run does not end");
}

#[tokio::test]
async fn a_good_run_ends_well_and_a_bad_one_says_why() {
    let server = Server::start().await;
    let args = json!([{"name": "path", "valueFrom": {"secretKeyRef": {"name": "vault", "key": "path"}}}, {"name": "least", "value": "0.95"}]);
    let metrics = |least: &str| {
        json!([
            {"name": "success-rate", "interval": "1s", "count": 2, "successCondition": format!("result[0] >= {least}"),
             "provider": {"prometheus": {"address": server.url("/prometheus"), "query": "up"}}},
            {"name": "health", "successCondition": "result.n == 7", "provider": {"web": {"url": server.url("/{{args.path}}")}}},
        ])
    };
    let good = play(json!({"metrics": metrics("{{args.least}}"), "args": args})).await;
    assert_eq!((good.phase.text(), good.message.text()), ("Successful", ""));
    assert_eq!(serde_json::to_value(good.run_summary).unwrap(), json!({"count": 2, "successful": 2}));
    let results = good.metric_results.unwrap();
    assert_eq!((results[0].count, results[1].count), (Some(2), Some(1)));

    let bad = play(json!({"metrics": metrics("0.99"), "args": args})).await;
    let message = "Metric \"success-rate\" assessed Failed due to failed (1) > failureLimit (0)";
    assert_eq!((bad.phase.text(), bad.message.text()), ("Failed", message));

    let lost = json!([{"name": "path", "valueFrom": {"secretKeyRef": {"name": "vault", "key": "nope"}}}, {"name": "least", "value": "1"}]);
    let lost = play(json!({"metrics": metrics("1"), "args": lost})).await;
    let message = "Unable to resolve metric arguments: key 'nope' does not exist in secret 'vault'";
    assert_eq!((lost.phase.text(), lost.message.text()), ("Error", message));
}
