//! Log lines in both forms, and their level changed while running.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::sync::{Arc, Mutex};

use tidegate_runtime::log::{Format, Logger, Options, Verbosity};
use tracing::{debug, info, warn};

fn written(format: Format, verbosity: &Verbosity, say: impl FnOnce()) -> String {
    let lines = Arc::new(Mutex::new(String::new()));
    let into = Arc::clone(&lines);
    let logger = Logger::new(Options {
        format,
        verbosity: verbosity.clone(),
        own: &["log"],
        others: None,
        wall: Box::new(|| "2026-08-01T10:00:00Z".to_owned()),
        write: Box::new(move |line| into.lock().unwrap().push_str(line)),
    });
    tracing::subscriber::with_default(logger, say);
    lines.lock().unwrap().clone()
}

fn say() {
    info!(rollout = "web", namespace = "shop", time_ms = 1.5, generation = 3, "Reconciliation completed");
    warn!(event_reason = %"a b", "say \"no\"");
    debug!("hidden");
    info!(target: "kube_client", "not ours");
}

#[test]
fn text_lines_have_time_level_and_message_first_and_fields_by_name() {
    assert_eq!(
        written(Format::Text, &Verbosity::named("info").unwrap(), say),
        "time=\"2026-08-01T10:00:00Z\" level=info msg=\"Reconciliation completed\" generation=3 namespace=shop \
         rollout=web time_ms=1.5\n\
         time=\"2026-08-01T10:00:00Z\" level=warning msg=\"say \\\"no\\\"\" event_reason=\"a b\"\n"
    );
}

#[test]
fn json_lines_are_one_object_each() {
    let text = written(Format::Json, &Verbosity::named("info").unwrap(), say);
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(
        first,
        serde_json::json!({"time": "2026-08-01T10:00:00Z", "level": "info", "msg": "Reconciliation completed",
            "rollout": "web", "namespace": "shop", "time_ms": 1.5, "generation": 3})
    );
    assert_eq!(text.lines().count(), 2);
}

#[test]
fn the_level_can_be_changed_while_lines_are_written() {
    let verbosity = Verbosity::named("warn").unwrap();
    let text = written(Format::Text, &verbosity, || {
        debug!("before");
        assert!(verbosity.set("debug"));
        debug!("after");
        assert!(!verbosity.set("loud"));
    });
    assert!(text.contains("msg=after") && !text.contains("before"), "{text}");
    assert_eq!(verbosity.name(), "debug");
    assert!(Verbosity::named("loud").is_none());
}
