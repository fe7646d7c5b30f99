//! The same input, setting and seed give the same report, to the byte.

use tidegate_simulate::report::{html, text};

use crate::{read, run, setting};

#[test]
fn the_same_seed_gives_the_same_report_to_the_byte() {
    let input = read(&["examples/2-istio-host-level"], "").unwrap();
    let setting = setting("seed: 7\nfaults: [{name: drawn}]\nfaultsFor: 3m\nversions: [{version: new, errorRate: 1%}]");
    let (one, other) = (run(&input, &setting), run(&input, &setting));
    assert_eq!(text(&one), text(&other));
    assert_eq!(one.json(), other.json());
    assert_eq!(html(&one), html(&other));
}

#[test]
fn another_seed_is_another_run() {
    let input = read(&["examples/2-istio-host-level"], "").unwrap();
    let (one, other) = (run(&input, &setting("seed: 1")), run(&input, &setting("seed: 2")));
    assert_ne!(one.json(), other.json());
    assert_eq!((one.as_expected, other.as_expected), (true, true));
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let input = read(&["examples/blue-green.yaml"], "").unwrap();
    let page = html(&run(&input, &setting("")));
    for foreign in ["http://", "https://", "<script", "<link", "@import", "url("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.contains("prefers-color-scheme:dark") && page.contains("@media print"));
    assert!(page.matches("<svg ").count() >= 3);
}
