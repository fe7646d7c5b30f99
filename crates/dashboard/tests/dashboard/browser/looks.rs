//! How pages look: compared with pictures that are committed, in the browser itself, coarsely enough for other fonts.
//!
//! After a change that is meant, `UPDATE_EXPECTED=1 cargo test -p tidegate-dashboard looks` writes the pictures anew.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tidegate_browser::{Browser, looks_like};

use super::rollout::run;
use crate::world::{World, canary, options, pod};

/// Where the picture of that name is.
fn picture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures").join(name).with_extension("png")
}

/// The same rollout at every run: nothing acts on it, and nothing in it tells the time.
async fn world() -> World {
    let world = World::still().await;
    for (name, phase, message, step) in [
        ("cart", "Healthy", "", 4),
        ("checkout", "Paused", "CanaryPauseStep", 1),
        ("login", "Progressing", "more replicas need to be updated", 2),
        ("search", "Degraded", "RolloutAborted: Rollout aborted update to revision 3", 0),
    ] {
        let mut rollout = canary(name);
        rollout["status"] = json!({"phase": phase, "message": message, "observedGeneration": "1", "currentStepIndex": step, "replicas": 4, "availableReplicas": 4, "updatedReplicas": step});
        rollout["status"]["stableRS"] = json!("one");
        rollout["status"]["currentPodHash"] = json!("two");
        let made = world.create("shop", rollout).await;
        for (revision, hash, image, replicas) in [(1, "one", "shop/web:1.0", 3), (2, "two", "shop/web:2.0", 1)] {
            world.create("shop", set(name, &made, revision, hash, image, replicas)).await;
        }
        world.create("shop", run(name, made["metadata"]["uid"].as_str().unwrap())).await;
    }
    world
}

fn set(name: &str, owner: &Value, revision: i64, hash: &str, image: &str, replicas: i64) -> Value {
    let mut template = pod(image);
    template["metadata"]["labels"] = json!({"app": name, "rollouts-pod-template-hash": hash});
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": format!("{name}-{hash}"), "labels": {"app": "web", "rollouts-pod-template-hash": hash},
            "annotations": {"rollout.argoproj.io/revision": revision.to_string()},
            "ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": name, "uid": owner["metadata"]["uid"], "controller": true}]},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name, "rollouts-pod-template-hash": hash}}, "template": template},
        "status": {"replicas": replicas, "availableReplicas": replicas, "readyReplicas": replicas, "observedGeneration": 1},
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_look_as_they_did_light_dark_and_on_a_phone() {
    let world = world().await;
    let server = world.dashboard(options()).await;
    let front = format!("http://{}/rollouts/", server.address());
    for (name, wide, high, colours) in
        [("light", 1280, 900, "light"), ("dark", 1280, 900, "dark"), ("phone", 390, 844, "light")]
    {
        let browser = Browser::open(wide, high).await;
        let feature = json!({"features": [{"name": "prefers-color-scheme", "value": colours}, {"name": "prefers-reduced-motion", "value": "reduce"}]});
        browser.devtools("Emulation.setEmulatedMedia", feature.clone()).await;
        browser.go(&front).await;
        browser.until("document.querySelectorAll('[data-key]').length === 4 && document.querySelector('#live').dataset.live === 'yes'").await;
        assert_eq!(
            browser.value("document.documentElement.scrollWidth <= innerWidth").await,
            json!(true),
            "{name}: nothing sticks out"
        );
        looks_like(&browser, &picture(&format!("list-{name}"))).await;
        browser.go(&format!("{front}rollout/shop/checkout")).await;
        browser.until("document.querySelector('#phase')?.innerText.includes('Paused') && document.querySelector('#why li, #why p') && document.querySelector('#history .diff') && document.querySelector('#weights svg')").await;
        assert_eq!(
            browser.value("document.documentElement.scrollWidth <= innerWidth").await,
            json!(true),
            "{name}: nothing sticks out"
        );
        // Ages are those of the moment.
        browser.value("document.querySelectorAll('#why .small, #history select').forEach((node) => { node.style.visibility = 'hidden'; })").await;
        looks_like(&browser, &picture(&format!("rollout-{name}"))).await;
        browser.go(&format!("{front}rollout/shop/checkout")).await;
        browser.click("[data-run=checkout-rate]").await;
        browser.click("[data-tab=success-rate]").await;
        browser.until("document.querySelectorAll('.plot .point').length === 4").await;
        // What lies behind the dialog has a moment of its own.
        browser.value("document.querySelector('main').hidden = true").await;
        looks_like(&browser, &picture(&format!("analysis-{name}"))).await;
    }
    server.stop().await;
}
