//! The list: what it shows, how it is filtered, that it lives, and that a keyboard is enough.

use serde_json::{Value, json};
use tidegate_browser::Browser;

use crate::world::{World, canary, options};

/// The names that the list shows, in its order.
const NAMES: &str = "[...document.querySelectorAll('.list [data-key]')].map((node) => node.dataset.key)";

async fn shows(browser: &Browser, wanted: &[&str]) {
    browser.until(&format!("JSON.stringify({NAMES}) === {}", json!(json!(wanted).to_string()))).await;
}

/// A Rollout that nothing acts on, in a phase.
fn still(name: &str, phase: &str, message: &str, team: &str) -> Value {
    let mut rollout = canary(name);
    rollout["metadata"]["labels"] = json!({"team": team});
    rollout["status"] = json!({"phase": phase, "message": message, "observedGeneration": "1", "currentStepIndex": 1, "replicas": 4, "availableReplicas": 4});
    rollout
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_list_shows_all_namespaces_and_follows_the_cluster() {
    follows(&World::start().await).await;
}

pub(super) async fn follows(world: &World) {
    world.paused_canary("default", "web").await;
    let server = world.dashboard(options()).await;
    let browser = Browser::open(1280, 800).await;
    browser.go(&format!("http://{}/", server.address())).await;
    browser.until("document.querySelector('[data-key=\"default/web\"] .badge')?.innerText.includes('Paused')").await;
    browser.until("document.querySelector('#live')?.dataset.live === 'yes'").await;

    world.create("other", canary("cart")).await;
    browser.until("document.querySelector('[data-key=\"other/cart\"]')").await;
    world.delete("Rollout", "other", "cart").await;
    browser.until("!document.querySelector('[data-key=\"other/cart\"]')").await;

    world.patch("Rollout", "default", "web", json!({"spec": {"paused": true}})).await;
    browser.says("spec.paused").await;
    browser.click("[data-key='default/web'] [data-action=restart]").await;
    browser.click("[data-confirm=yes]").await;
    browser.says("web: restarts").await;
    world.until("default", "web", "restarting", |rollout| rollout["spec"]["restartAt"].is_string()).await;
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn search_counters_and_favourites_choose_what_is_shown_and_the_address_remembers() {
    is_searched(&World::still().await).await;
}

pub(super) async fn is_searched(world: &World) {
    world.create("a", still("cart", "Healthy", "", "shop")).await;
    world.create("a", still("cart-api", "Degraded", "RolloutAborted: no", "shop")).await;
    world.create("b", still("login", "Paused", "CanaryPauseStep", "auth")).await;
    world.create("b", still("search", "Paused", "InconclusiveAnalysisRun", "find")).await;
    let server = world.dashboard(options()).await;
    let browser = Browser::open(1280, 800).await;
    let front = format!("http://{}/rollouts/", server.address());
    browser.go(&front).await;
    shows(&browser, &["a/cart", "a/cart-api", "b/login", "b/search"]).await;
    for (text, wanted) in [
        ("cart", &["a/cart", "a/cart-api"][..]),
        ("\"cart\"", &["a/cart"]),
        ("!cart", &["b/login", "b/search"]),
        ("!\"cart\"", &["a/cart-api", "b/login", "b/search"]),
        ("team:sho", &["a/cart", "a/cart-api"]),
        ("team:\"find\"", &["b/search"]),
        ("login, team:find", &["b/login", "b/search"]),
    ] {
        browser.value("document.querySelector('#search').value = ''").await;
        browser.press(&["Escape", "/"]).await;
        browser.type_text(text).await;
        shows(&browser, wanted).await;
    }
    assert!(browser.value("location.search").await.as_str().unwrap().contains("name="));
    browser.go(&front).await;
    browser.click("[data-counter=showRequiresAttention]").await;
    shows(&browser, &["a/cart-api", "b/search"]).await;
    browser.click("[data-counter=Paused]").await;
    shows(&browser, &["b/search"]).await;
    browser.click("[data-counter=Degraded]").await;
    shows(&browser, &["a/cart-api", "b/search"]).await;
    assert_eq!(browser.value("location.search").await, json!("?showRequiresAttention=true&Paused=true&Degraded=true"));

    browser.go(&front).await;
    browser.click("[data-key='b/search'] .star").await;
    shows(&browser, &["b/search", "a/cart", "a/cart-api", "b/login"]).await;
    assert_eq!(browser.value("localStorage.getItem('rolloutsFavorites')").await, json!("{\"b/search\":true}"));
    browser.click("#mode").await;
    browser.until("document.querySelector('table tbody tr')").await;
    browser.go(&format!("{front}b?showFavorites=true")).await;
    shows(&browser, &["b/search"]).await;
    browser.go(&format!("{front}empty")).await;
    browser.says("No Rollouts to display!").await;
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_keyboard_is_enough() {
    needs_no_mouse(&World::start().await).await;
}

pub(super) async fn needs_no_mouse(world: &World) {
    world.paused_canary("default", "web").await;
    let server = world.dashboard(options()).await;
    let browser = Browser::open(1280, 800).await;
    browser.go(&format!("http://{}/rollouts/", server.address())).await;
    browser.until("document.querySelector('[data-key]')").await;
    browser.value("document.activeElement.blur()").await;
    browser.press(&["ArrowRight"]).await;
    browser.until("document.querySelector('[data-selected]')").await;
    browser.press(&["Enter"]).await;
    browser.until("location.pathname === '/rollouts/rollout/default/web'").await;
    browser.until("document.activeElement.id === 'title'").await;
    browser.until("document.querySelector('#phase')?.innerText.includes('Paused')").await;
    browser.press(&["p"]).await;
    browser.until("document.querySelector('dialog[open]') && document.activeElement.dataset.confirm === 'yes'").await;
    browser.press(&["Escape"]).await;
    browser.until("!document.querySelector('dialog')").await;
    browser.press(&["p"]).await;
    browser.until("document.activeElement.dataset.confirm === 'yes'").await;
    browser.press(&["Enter"]).await;
    browser.says("web: promoted").await;
    world.until("default", "web", "at step 3", |rollout| rollout["status"]["currentStepIndex"] == 3).await;
    browser.press(&["u"]).await;
    browser.until("document.querySelector('#search')").await;
    browser.press(&["Shift", "H"]).await;
    browser.says("Keyboard shortcuts").await;
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_rollouts_are_listed_searched_and_followed() {
    let world = World::still().await;
    for number in 0..2000 {
        let namespace = format!("team-{}", number % 20);
        world.create(&namespace, still(&format!("service-{number:04}"), "Healthy", "", "many")).await;
    }
    let server = world.dashboard(options()).await;
    let browser = Browser::open(1280, 800).await;
    let begun = tokio::time::Instant::now();
    browser.go(&format!("http://{}/rollouts/", server.address())).await;
    browser.says("2000 of 2000 rollouts").await;
    println!("first page of 2,000 rollouts after {:?}", begun.elapsed());
    let list = crate::http::ask(server.address(), "GET", "/api/v1/summaries", &[("accept-encoding", "gzip")], "").await;
    println!("the whole list is {} bytes, compressed", list.headers["content-length"].to_str().unwrap());
    assert_eq!(list.headers["content-encoding"], "gzip");
    let most = browser.value("document.querySelectorAll('.card').length").await;
    assert!(most.as_u64().unwrap() <= 200, "{most} cards are drawn at once");
    browser.press(&["/"]).await;
    browser.type_text("service-1234").await;
    shows(&browser, &["team-14/service-1234"]).await;
    let status = json!({"status": {"phase": "Degraded", "message": "ProgressDeadlineExceeded: too slow"}});
    world.patch_status("Rollout", "team-14", "service-1234", status).await;
    browser
        .until("document.querySelector('[data-key=\"team-14/service-1234\"] .badge').innerText.includes('Degraded')")
        .await;
    browser.until("document.querySelector('[data-counter=Degraded] b').innerText === '1'").await;
    server.stop().await;
}
