//! One rollout: what is shown of it, and that every button changes the cluster.

use serde_json::{Value, json};
use tidegate_browser::Browser;
use tidegate_dashboard::Options;

use crate::world::{World, canary, options};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_button_changes_the_cluster() {
    has_buttons_that_work(&World::start().await).await;
}

pub(super) async fn has_buttons_that_work(world: &World) {
    world.paused_canary("default", "web").await;
    let server = world.dashboard(options()).await;
    let browser = Browser::open(1280, 1000).await;
    browser.go(&format!("http://{}/rollouts/rollout/default/web", server.address())).await;
    browser.until("document.querySelector('#phase')?.innerText.includes('Paused')").await;
    browser.until("document.querySelector('.steps li:nth-child(2)')?.dataset.state === 'current'").await;
    browser.until("document.querySelector('#why')?.innerText.includes('promote')").await;
    browser.until("document.querySelector('#history .diff .plus')?.innerText.includes('shop/web:2.0')").await;
    browser.until("document.querySelector('#events')?.innerText.includes('RolloutPaused')").await;
    browser.until("document.querySelector('#weights svg path')").await;
    let press = async |action: &str| {
        browser.click(&format!("[data-action={action}]:not(:disabled)")).await;
        browser.click("[data-confirm=yes]").await;
        browser.until("!document.querySelector('dialog')").await;
    };
    press("promote").await;
    world.until("default", "web", "at step 3", |rollout| rollout["status"]["currentStepIndex"] == 3).await;
    browser.until("document.querySelector('.steps li:nth-child(4)')?.dataset.state === 'current'").await;
    press("abort").await;
    world.until_phase("default", "web", "Degraded").await;
    press("retry").await;
    world.until_phase("default", "web", "Paused").await;
    press("promoteFull").await;
    world.until_phase("default", "web", "Healthy").await;
    press("pause").await;
    world.until("default", "web", "paused", |rollout| rollout["spec"]["paused"] == true).await;
    press("resume").await;
    world.until("default", "web", "resumed", |rollout| rollout["spec"]["paused"] != true).await;
    press("restart").await;
    world.until("default", "web", "restarted", |rollout| rollout["spec"]["restartAt"].is_string()).await;
    assert_eq!(browser.value("document.title").await, json!("web / Argo Rollouts"));

    let image = |rollout: &Value| rollout["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    browser.click("[data-rollback='1']").await;
    browser.click("[data-confirm=yes]").await;
    world.until("default", "web", "rolled back", |rollout| image(rollout) == "shop/web:1.0").await;
    browser.until("document.querySelector('#images code')?.innerText === 'shop/web:1.0'").await;
    browser.click("#edit-images").await;
    browser.value("document.querySelector('#images input').value = 'shop/web'").await;
    browser.click("#save-images").await;
    browser.says("a tag or a digest is needed").await;
    browser.value("document.querySelector('#images input').value = 'shop/web:3.0'").await;
    browser.click("#save-images").await;
    browser.click("[data-confirm=yes]").await;
    world.until("default", "web", "another image", |rollout| image(rollout) == "shop/web:3.0").await;
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    server.stop().await;
}

/// A run with values over time, held to a threshold.
pub(super) fn run(owner: &str, uid: &str) -> Value {
    let values = [0.99, 0.97, 0.93, 0.96];
    let measurements: Vec<Value> = values.iter().enumerate().map(|(index, value)| {
        let phase = if *value >= 0.95 { "Successful" } else { "Failed" };
        json!({"value": format!("[{value}]"), "phase": phase, "startedAt": format!("2026-01-01T00:0{index}:00Z"), "finishedAt": format!("2026-01-01T00:0{index}:00Z")})
    }).collect();
    let result = json!({"name": "success-rate", "phase": "Running", "successful": 3, "failed": 1, "count": 4, "measurements": measurements});
    let metric = json!({
        "name": "success-rate", "interval": "1m", "failureLimit": 2, "successCondition": "result[0] >= 0.95",
        "provider": {"prometheus": {"address": "http://prometheus", "query": "rate(requests{service=\"{{args.service}}\"}[1m])"}},
    });
    json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisRun",
        "metadata": {"name": format!("{owner}-rate"), "annotations": {"rollout.argoproj.io/revision": "2"},
            "ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": owner, "uid": uid, "controller": true}]},
        "spec": {"metrics": [metric], "args": [{"name": "service", "value": "web-canary"}]},
        "status": {"phase": "Running", "startedAt": "2026-01-01T00:00:00Z", "metricResults": [result]},
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn measured_values_are_plotted_with_their_threshold_and_grow() {
    plots(&World::still().await).await;
}

pub(super) async fn plots(world: &World) {
    let rollout = world.create("default", canary("web")).await;
    world.create("default", run("web", rollout["metadata"]["uid"].as_str().unwrap())).await;
    let server = world.dashboard(options()).await;
    let browser = Browser::open(1280, 1000).await;
    browser.go(&format!("http://{}/rollouts/rollout/default/web", server.address())).await;
    browser.click("[data-run=web-rate]").await;
    browser.says("Analysis in progress").await;
    browser.click("[data-tab=success-rate]").await;
    browser.until("document.querySelectorAll('.plot .point').length === 4").await;
    browser.until("document.querySelectorAll('.plot .point.bad').length === 1").await;
    browser.until("document.querySelector('.plot .threshold.success')").await;
    browser.says("success >= 0.95").await;
    browser.says("Fewer than 3 measurement failures.").await;
    browser.says("rate(requests{service=\"web-canary\"}[1m])").await;
    let mut status = run("web", "")["status"].clone();
    let further = json!({"value": "[0.98]", "phase": "Successful", "startedAt": "2026-01-01T00:05:00Z"});
    status["metricResults"][0]["measurements"].as_array_mut().unwrap().push(further);
    world.patch("AnalysisRun", "default", "web-rate", json!({"status": status})).await;
    browser.until("document.querySelectorAll('.plot .point').length === 5").await;
    browser.click("[data-toggle=table]").await;
    browser.until("document.querySelectorAll('dialog table tbody tr').length === 5").await;
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_dashboard_has_no_buttons() {
    is_read_only(&World::still().await).await;
}

pub(super) async fn is_read_only(world: &World) {
    world.create("default", canary("web")).await;
    let banner = Some("a note for everybody".to_owned());
    let server = world.dashboard(Options { is_read_only: true, banner, ..options() }).await;
    let browser = Browser::open(1280, 800).await;
    browser.go(&format!("http://{}/rollouts/rollout/default/web", server.address())).await;
    browser.says("This dashboard is read-only.").await;
    browser.says("a note for everybody").await;
    browser.until("document.querySelector('#images code')").await;
    assert_eq!(
        browser.value("document.querySelectorAll('[data-action], [data-rollback], #edit-images').length").await,
        json!(0)
    );
    server.stop().await;
}
