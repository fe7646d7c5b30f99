//! The same pages on a real control plane: what they show comes over real watches, and what is clicked changes real objects.

use serde_json::json;
use tidegate_browser::Browser;
use tidegate_dashboard::Options;

use super::{list, rollout, trouble};
use crate::world::{World, canary, options};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_do_on_a_real_control_plane_what_they_do_on_the_embedded_one() {
    let mut world = World::real().await;
    // Without our controller, so that what a test writes stays.
    list::is_searched(&world).await;
    world.is_cleared().await;
    rollout::plots(&world).await;
    world.is_cleared().await;
    rollout::is_read_only(&world).await;
    world.is_cleared().await;
    trouble::is_deleted(&world).await;
    world.is_cleared().await;
    trouble::finds_its_way_back(&world).await;
    world.is_cleared().await;
    trouble::cannot_be_done(&world).await;
    world.is_cleared().await;

    world.lives().await;
    list::follows(&world).await;
    world.is_cleared().await;
    world.lives().await;
    list::needs_no_mouse(&world).await;
    world.is_cleared().await;
    world.lives().await;
    rollout::has_buttons_that_work(&world).await;
    world.is_cleared().await;

    fits_a_phone_and_says_when_the_api_is_gone(world).await;
}

async fn fits_a_phone_and_says_when_the_api_is_gone(world: World) {
    world.create("default", canary("web")).await;
    let server = world.dashboard(Options { port: 0, ..options() }).await;
    let browser = Browser::open(390, 844).await;
    let front = format!("http://{}/rollouts/", server.address());
    for page in ["", "rollout/default/web"] {
        browser.go(&format!("{front}{page}")).await;
        browser.says("web").await;
        let fits = browser.value("document.documentElement.scrollWidth <= innerWidth").await;
        assert_eq!(fits, json!(true), "nothing of /{page} sticks out");
    }
    browser.says("shop/web:1.0").await;
    world.loses_its_api().await;
    browser.says("The cluster does not answer, so this may be old").await;
    browser.says("shop/web:1.0").await;
    browser.go(&front).await;
    browser.says("The cluster does not answer, so this may be old").await;
    server.stop().await;
}
