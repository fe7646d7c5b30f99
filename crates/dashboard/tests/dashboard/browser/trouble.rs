//! What a page says when something is not there, not allowed, or not reachable.

use serde_json::json;
use tidegate_browser::Browser;
use tidegate_dashboard::{Auth, Options};

use crate::server::access::guarded;
use crate::world::{World, canary, options};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollout_that_is_deleted_while_it_is_looked_at_is_told_and_comes_back() {
    is_deleted(&World::still().await).await;
}

pub(super) async fn is_deleted(world: &World) {
    world.create("default", canary("web")).await;
    let server = world.dashboard(options()).await;
    let browser = Browser::open(1000, 800).await;
    browser.go(&format!("http://{}/rollouts/rollout/default/web", server.address())).await;
    browser.says("shop/web:1.0").await;
    world.delete("Rollout", "default", "web").await;
    browser.until("/was deleted|There is no rollout web/.test(document.body.innerText)").await;
    world.create("default", canary("web")).await;
    browser.says("shop/web:1.0").await;
    browser.go(&format!("http://{}/rollouts/rollout/default/none", server.address())).await;
    browser.says("There is no rollout none in default.").await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_finds_its_way_back_after_the_server_was_gone() {
    finds_its_way_back(&World::still().await).await;
}

pub(super) async fn finds_its_way_back(world: &World) {
    world.create("default", canary("web")).await;
    let server = world.dashboard(options()).await;
    let address = server.address();
    let browser = Browser::open(1000, 800).await;
    browser.go(&format!("http://{address}/rollouts/")).await;
    browser.until("document.querySelector('[data-key=\"default/web\"]')").await;
    server.stop().await;
    browser.says("Nothing new arrives").await;
    browser.until("document.querySelector('#live').dataset.live === 'no'").await;
    world.create("default", canary("cart")).await;
    let server = world.dashboard(Options { port: address.port(), ..options() }).await;
    browser.until("document.querySelector('[data-key=\"default/cart\"]')").await;
    browser.until("document.querySelector('#trouble').hidden").await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_done_is_said_in_the_words_of_the_cluster() {
    cannot_be_done(&World::still().await).await;
}

pub(super) async fn cannot_be_done(world: &World) {
    let mut rollout = canary("web");
    rollout["status"] = json!({"phase": "Paused", "message": "CanaryPauseStep", "observedGeneration": "1"});
    world.create("default", rollout).await;
    let server = world.dashboard(options()).await;
    let browser = Browser::open(1000, 800).await;
    browser.go(&format!("http://{}/rollouts/rollout/default/web", server.address())).await;
    browser.until("document.querySelector('#phase')?.innerText.includes('Paused')").await;
    browser.click("[data-action=abort]").await;
    world.delete("Rollout", "default", "web").await;
    browser.click("[data-confirm=yes]").await;
    browser.says("rollouts.argoproj.io \"web\" not found").await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_logs_in_to_look_sees_buttons_that_say_why_they_are_disabled() {
    let world = World::still().await;
    let mut rollout = canary("web");
    rollout["status"] = json!({"phase": "Paused", "message": "CanaryPauseStep", "observedGeneration": "1"});
    world.create("default", rollout).await;
    let auth = Auth::Token(guarded(world.client.clone()));
    let server = world.dashboard(Options { auth, ..options() }).await;
    let browser = Browser::open(1000, 800).await;
    browser.go(&format!("http://{}/rollouts/rollout/default/web", server.address())).await;
    browser.until("document.activeElement.id === 'token'").await;
    browser.type_text("wrong").await;
    browser.click("button[type=submit]").await;
    browser.says("the cluster does not know this token").await;
    browser.value("document.querySelector('#token').value = 'of-bob'").await;
    browser.click("button[type=submit]").await;
    browser.until("document.querySelector('#phase')?.innerText.includes('Paused')").await;
    browser.says("bob").await;
    browser.until("document.querySelector('[data-action=abort]').disabled").await;
    let why = browser.value("document.querySelector('[data-action=abort]').title").await;
    assert_eq!(why, json!("you may not patch rollouts/status in namespace default: no rule"));
    assert_eq!(browser.value("document.cookie").await, json!(""), "scripts see no session");
    browser.click(".who button").await;
    browser.until("document.querySelector('#token')").await;
    server.stop().await;
}
