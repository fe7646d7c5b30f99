//! The same with a mouse: whatever a page can do is clicked in a real browser, and the rest is typed.

use std::path::Path;

use serde_json::json;
use tidegate_browser::{Browser, looks_roughly_like};

use crate::terminal::Newcomer;

/// A newcomer with two windows: the page of the application, and the Rollout in the dashboard.
struct Clicking {
    newcomer: Newcomer,
    mix: Browser,
    page: Browser,
    /// Whether the README has pictures of this scenario.
    is_in_the_readme: bool,
}

impl Clicking {
    async fn start(scenario: &str) -> Self {
        let newcomer = Newcomer::start(scenario);
        let mix = Browser::open(1000, 800).await;
        mix.go(&newcomer.address("application")).await;
        mix.says("requests a second").await;
        let page = Browser::open(1280, 1000).await;
        page.go(&newcomer.address("dashboard")).await;
        page.click("[data-key='default/web'] a.name").await;
        page.until("location.pathname === '/rollouts/rollout/default/web'").await;
        Self { newcomer, mix, page, is_in_the_readme: scenario == "host" }
    }

    async fn is(&self, phase: &str) {
        let shown = format!("document.querySelector('#phase')?.innerText.includes('{phase}')");
        let begun = std::time::Instant::now();
        // A bad version takes its time to be found out, longer than a page may take to show something.
        while self.page.value(&format!("Boolean({shown})")).await != true {
            let text = self.page.value("document.body.innerText").await;
            assert!(begun.elapsed() < crate::terminal::PATIENCE, "not {phase}: {text}");
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }

    async fn presses(&self, selector: &str) {
        self.page.click(selector).await;
        self.page.click("[data-confirm=yes]").await;
        self.page.until("!document.querySelector('dialog')").await;
    }

    async fn sets(&self, image: &str) {
        self.page.click("#edit-images").await;
        self.page.value(&format!("document.querySelector('#images input').value = {}", json!(image))).await;
        self.presses("#save-images").await;
        self.page.until(&format!("document.querySelector('#images code')?.innerText === {}", json!(image))).await;
    }

    /// The bad version was found by what was measured, and both pages show it.
    async fn sees_why_it_was_taken_back(&self) {
        self.mix.until("[...document.querySelectorAll('#versions tr')].some((row) => row.cells[0].innerText.includes('3.0-bad') && Number(row.cells[4].innerText.replace(/\\D/g, '')) > 0)").await;
        self.page.until("document.querySelector('#why')?.innerText.includes('success-rate')").await;
        self.page.click("[data-run][aria-label*=Failed]").await;
        self.page.click("[data-tab=success-rate]").await;
        self.page.until("document.querySelector('.plot .point.bad')").await;
        self.page.press(&["Escape"]).await;
        self.page.until("!document.querySelector('dialog')").await;
    }

    /// Compares a window with a picture in the README, and goes back to where it was.
    async fn is_pictured(&self, browser: &Browser, name: &str) {
        let address = browser.value("location.href").await;
        browser.value("scrollTo(0, 0)").await;
        let pictures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
        looks_roughly_like(browser, &pictures.join(name)).await;
        browser.go(address.as_str().unwrap()).await;
    }

    /// Does with the mouse what a command would do.
    async fn does(&self, command: &str) {
        if let Some((_, image)) = command.split_once("set image web web=") {
            self.is("Healthy").await;
            self.sets(image).await;
        } else if command.ends_with("promote web") {
            self.is("Paused").await;
            self.presses("[data-action=promote]:not(:disabled)").await;
        } else if command.ends_with("abort web") {
            self.is("Paused").await;
            self.presses("[data-action=abort]:not(:disabled)").await;
        } else if command.ends_with("undo web --to-stable") {
            self.is("Degraded").await;
            self.sees_why_it_was_taken_back().await;
            if self.is_in_the_readme {
                self.is_pictured(&self.mix, "application.png").await;
            }
            let stable =
                "document.querySelector('.role.stable, .role.active').closest('[data-revision]').dataset.revision";
            let revision = self.page.value(stable).await;
            self.presses(&format!("[data-rollback='{}']", revision.as_str().unwrap())).await;
        } else if command.ends_with("why web") {
            self.is("Paused").await;
            self.page.until("document.querySelector('#why')?.innerText.includes('promote')").await;
            self.mix.until("document.querySelector('#versions')?.innerText.includes('2.0')").await;
            if self.is_in_the_readme {
                self.is_pictured(&self.page, "dashboard.png").await;
            }
        } else if command.ends_with("get experiments") {
            self.page.until("document.querySelector('.experiment .badge')?.innerText.includes('Successful')").await;
        } else if command.contains("apply -f") {
            self.is("Paused").await;
            self.newcomer.types(command);
            self.newcomer.sees_routes_repaired();
        }
    }
}

async fn clicks_through(scenario: &str) {
    let clicking = Clicking::start(scenario).await;
    for command in clicking.newcomer.commands() {
        clicking.does(&command).await;
    }
    clicking.is("Degraded").await;
    assert_eq!(clicking.page.complaints().await, Vec::<String>::new());
    assert_eq!(clicking.mix.complaints().await, Vec::<String>::new());
    let Clicking { newcomer, .. } = clicking;
    newcomer.ends();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_host_scenario_can_be_clicked() {
    clicks_through("host").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_subset_scenario_can_be_clicked() {
    clicks_through("subset").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_blue_green_scenario_can_be_clicked() {
    clicks_through("blue-green").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_header_scenario_can_be_clicked() {
    clicks_through("header").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tcp_scenario_can_be_clicked() {
    clicks_through("tcp").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_experiment_scenario_can_be_clicked() {
    clicks_through("experiment").await;
}
