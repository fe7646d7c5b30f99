//! How pages look: compared with pictures that are committed, in the browser itself, coarsely enough for other fonts.

use std::path::Path;

use serde_json::json;

use crate::base64;
use crate::window::Browser;

/// Share of the page, in parts of eight by eight points, that may look different.
const TOLERATED: f64 = 0.05;
/// The same for a page that shows what just happens, which is never twice the same.
const TOLERATED_LIVE: f64 = 0.3;

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

/// Compares what the window shows with a picture. After a change that is meant, `UPDATE_EXPECTED=1` writes the picture anew.
///
/// The window is left at an empty page.
pub async fn looks_like(browser: &Browser, file: &Path) {
    compared(browser, file, TOLERATED).await;
}

/// The same for a page that lives.
pub async fn looks_roughly_like(browser: &Browser, file: &Path) {
    compared(browser, file, TOLERATED_LIVE).await;
}

async fn compared(browser: &Browser, file: &Path, tolerated: f64) {
    let picture = browser.picture().await;
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, base64::bytes(&picture)).unwrap();
        return;
    }
    let expected = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    // A page of our own would not be allowed to load pictures from data with scripts of others.
    browser.go("about:blank").await;
    let pair = json!([base64::text(&expected), picture]);
    browser.value(&COMPARE.replace("arguments_", &pair.to_string())).await;
    browser.until("window.compared !== undefined").await;
    let different = browser.value("window.compared").await.as_f64().unwrap();
    assert!(different <= tolerated, "{}: {:.1} % of the page looks different", file.display(), different * 100.0);
}
