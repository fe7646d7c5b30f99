//! How pages look: compared with pictures that are committed, in the browser itself, coarsely enough for other fonts.
//!
//! After a change that is meant, `UPDATE_EXPECTED=1 cargo test -p tidegate-dashboard looks` writes the pictures anew.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::driver::Browser;
use super::rollout::run;
use crate::base64;
use crate::world::{World, canary, options, pod};

/// Share of the page, in parts of eight by eight points, that may look different.
const TOLERATED: f64 = 0.05;

/// Loads both pictures, shrinks them and counts what differs; the answer is left in the page.
const COMPARE: &str = r#"(() => {
  const [one, other] = arguments_;
  const load = (data) => new Promise((done, failed) => { const image = new Image(); image.onload = () => done(image); image.onerror = failed; image.src = `data:image/png;base64,${data}`; });
  window.compared = undefined;
  Promise.all([load(one), load(other)]).then(([a, b]) => {
    if (a.width !== b.width || a.height !== b.height) { window.compared = 1; return; }
    const [wide, high] = [Math.ceil(a.width / 8), Math.ceil(a.height / 8)];
    const points = (image) => { const canvas = document.createElement("canvas"); canvas.width = wide; canvas.height = high; const context = canvas.getContext("2d"); context.imageSmoothingQuality = "high"; context.drawImage(image, 0, 0, wide, high); return context.getImageData(0, 0, wide, high).data; };
    const [x, y] = [points(a), points(b)];
    let different = 0;
    for (let at = 0; at < x.length; at += 4) if (Math.abs(x[at] - y[at]) + Math.abs(x[at + 1] - y[at + 1]) + Math.abs(x[at + 2] - y[at + 2]) > 96) different += 1;
    window.compared = different / (wide * high);
  });
  return true;
})()"#;

async fn looks(browser: &Browser, name: &str) {
    let picture = browser.picture().await;
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/pictures").join(format!("{name}.png"));
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, base64::bytes(&picture)).unwrap();
        return;
    }
    let expected = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    // A page of our own would not be allowed to load pictures from data with scripts of others.
    browser.go("about:blank").await;
    let pair = json!([base64::text(&expected), picture]);
    browser.value(&COMPARE.replace("arguments_", &pair.to_string())).await;
    browser.until("window.compared !== undefined").await;
    let different = browser.value("window.compared").await.as_f64().unwrap();
    assert!(different <= TOLERATED, "{name}: {:.1} % of the page looks different", different * 100.0);
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
        looks(&browser, &format!("list-{name}")).await;
        browser.go(&format!("{front}rollout/shop/checkout")).await;
        browser.until("document.querySelector('#phase')?.innerText.includes('Paused') && document.querySelector('#why li, #why p') && document.querySelector('#history .diff') && document.querySelector('#weights svg')").await;
        assert_eq!(
            browser.value("document.documentElement.scrollWidth <= innerWidth").await,
            json!(true),
            "{name}: nothing sticks out"
        );
        // Ages are those of the moment.
        browser.value("document.querySelectorAll('#why .small, #history select').forEach((node) => { node.style.visibility = 'hidden'; })").await;
        looks(&browser, &format!("rollout-{name}")).await;
        browser.go(&format!("{front}rollout/shop/checkout")).await;
        browser.click("[data-run=checkout-rate]").await;
        browser.click("[data-tab=success-rate]").await;
        browser.until("document.querySelectorAll('.plot .point').length === 4").await;
        // What lies behind the dialog has a moment of its own.
        browser.value("document.querySelector('main').hidden = true").await;
        looks(&browser, &format!("analysis-{name}")).await;
    }
    server.stop().await;
}
