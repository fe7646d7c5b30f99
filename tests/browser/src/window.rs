//! A browser, driven through WebDriver: JSON over HTTP, and nothing more.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_testbed::prepare_chromium;

use crate::webdriver::ask;

/// How long a page may take to become what it should be.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// What WebDriver calls an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with one page; closed when it is dropped.
pub struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// A window of this size.
    pub async fn open(wide: u32, high: u32) -> Self {
        let found = prepare_chromium().unwrap();
        let profile = tempfile::tempdir().unwrap();
        let mut driver = Command::new(&found.driver)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = said
            .find_map(|line| line.unwrap().split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok())
            .expect("the driver says where it listens");
        // What else it says must not fill the pipe.
        std::thread::spawn(move || said.for_each(drop));
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let arguments = [
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--disable-gpu".to_owned(),
            "--force-device-scale-factor=1".to_owned(),
            "--hide-scrollbars".to_owned(),
            format!("--user-data-dir={}", profile.path().display()),
            format!("--window-size={wide},{high}"),
        ];
        let options = json!({"binary": found.chromium, "args": arguments});
        let wanted = json!({"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}});
        let made = ask(address, "POST", "/session", wanted.to_string()).await;
        let session = made["value"]["sessionId"].as_str().unwrap_or_else(|| panic!("{made:#}")).to_owned();
        let browser = Self { driver, address, session, _profile: profile };
        // Headless windows have frames that nobody sees; the page is what counts.
        let device = json!({"width": wide, "height": high, "deviceScaleFactor": 1, "mobile": false});
        browser.devtools("Emulation.setDeviceMetricsOverride", device).await;
        browser
    }

    async fn command(&self, method: &str, path: &str, body: Value) -> Value {
        let value = self.tried(method, path, body).await;
        assert!(value.get("error").is_none(), "{method} {path}: {value:#}");
        value
    }

    /// The answer to a command, which may be an error.
    async fn tried(&self, method: &str, path: &str, body: Value) -> Value {
        let path = format!("/session/{}/{path}", self.session);
        let text = if method == "GET" { String::new() } else { body.to_string() };
        ask(self.address, method, &path, text).await.get("value").cloned().unwrap_or_default()
    }

    /// A command of Chromium's own protocol.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.command("POST", "goog/cdp/execute", json!({"cmd": command, "params": parameters})).await
    }

    /// Goes to an address and waits until it is loaded.
    pub async fn go(&self, url: &str) {
        self.command("POST", "url", json!({"url": url})).await;
    }

    /// The value of a JavaScript expression.
    pub async fn value(&self, expression: &str) -> Value {
        self.command("POST", "execute/sync", json!({"script": format!("return ({expression})"), "args": []})).await
    }

    /// Waits until an expression is true.
    pub async fn until(&self, expression: &str) {
        let end = tokio::time::Instant::now() + PATIENCE;
        loop {
            if self.value(&format!("Boolean({expression})")).await == true {
                return;
            }
            if tokio::time::Instant::now() > end {
                let text = self.value("document.body.innerText").await;
                panic!("never true: {expression}\nthe page says:\n{}", text.as_str().unwrap_or_default());
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Waits until the page says something.
    pub async fn says(&self, text: &str) {
        self.until(&format!("document.body.innerText.includes({})", json!(text))).await;
    }

    /// Waits for an element, and clicks it as a person does.
    pub async fn click(&self, selector: &str) {
        self.until(&format!("document.querySelector({})?.checkVisibility()", json!(selector))).await;
        let mut answer = Value::Null;
        // A page that lives may put another element in its place meanwhile; a person would click again.
        for _ in 0..10 {
            let found = self.tried("POST", "element", json!({"using": "css selector", "value": selector})).await;
            if let Some(id) = found[ELEMENT].as_str() {
                // What is half under a header counts as visible for the driver; a person would scroll.
                self.value(&format!(
                    "document.querySelector({})?.scrollIntoView({{block: 'center'}})",
                    json!(selector)
                ))
                .await;
                answer = self.tried("POST", &format!("element/{id}/click"), json!({})).await;
                if answer.get("error").is_none() {
                    return;
                }
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        panic!("{selector} cannot be clicked: {answer:#}");
    }

    /// Types into whatever has the focus; keys have the names of the DOM.
    pub async fn press(&self, keys: &[&str]) {
        let named = |key: &str| match key {
            "Enter" => "\u{e007}".to_owned(),
            "Escape" => "\u{e00c}".to_owned(),
            "Tab" => "\u{e004}".to_owned(),
            "Shift" => "\u{e008}".to_owned(),
            "ArrowLeft" => "\u{e012}".to_owned(),
            "ArrowUp" => "\u{e013}".to_owned(),
            "ArrowRight" => "\u{e014}".to_owned(),
            "ArrowDown" => "\u{e015}".to_owned(),
            other => other.to_owned(),
        };
        let strokes =
            keys.iter().flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": named(key)})));
        let strokes: Vec<Value> = strokes.collect();
        let actions = json!({"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]});
        self.command("POST", "actions", actions).await;
    }

    /// Types a text into whatever has the focus.
    pub async fn type_text(&self, text: &str) {
        let keys: Vec<String> = text.chars().map(String::from).collect();
        self.press(&keys.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }

    /// The page as a PNG in base64.
    pub async fn picture(&self) -> String {
        self.command("GET", "screenshot", Value::Null).await.as_str().unwrap().to_owned()
    }

    /// What went wrong in the page, as it said to its console.
    pub async fn complaints(&self) -> Vec<String> {
        let said = self.command("POST", "se/log", json!({"type": "browser"})).await;
        let severe = said.as_array().unwrap().iter().filter(|entry| entry["level"] == "SEVERE");
        severe.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A driver that is killed leaves its browser behind; one that is asked closes it.
        if let Ok(mut stream) = TcpStream::connect(self.address) {
            let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
            let (session, address) = (&self.session, self.address);
            let _ =
                write!(stream, "DELETE /session/{session} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
            let _ = stream.read(&mut [0; 256]);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
