//! What is served to those who run us.

use http::StatusCode;
use serde_json::json;
use tidegate_controller::Insight;
use tidegate_runtime::admin::{Answer, Pages};
use tidegate_runtime::log::Verbosity;
use tidegate_runtime::metrics::{CONTENT_TYPE, Page, Registry, Source};

/// Which build this is.
pub(crate) struct Build;

impl Source for Build {
    fn collect(&self, page: &mut Page) {
        let version = tidegate_build_info::version();
        let platform = tidegate_build_info::platform();
        let arch = platform.rsplit('/').next().unwrap_or_default();
        let help = "Running Argo-rollouts version";
        page.gauge("argo_rollouts_controller_info", help, &[("version", &version)], 1.0);
        let labels = [
            ("version", version.as_str()),
            ("goversion", tidegate_build_info::COMPILER),
            ("goarch", arch),
            ("commit", tidegate_build_info::COMMIT),
        ];
        page.gauge("build_info", "Which build this is, by what and for what it was compiled.", &labels, 1.0);
    }
}

/// Is the process alive, and could it work?
pub(crate) fn health(insight: Insight) -> Pages {
    Pages::new().get("/healthz", || Answer::text(StatusCode::OK, "ok")).get("/readyz", move || {
        let missing = insight.missing();
        if missing.is_empty() {
            return Answer::text(StatusCode::OK, "ok");
        }
        let text = format!("not synced yet: {}\n", missing.join(", "));
        Answer::text(StatusCode::SERVICE_UNAVAILABLE, text)
    })
}

/// Figures for everybody, a look inside for whoever comes through `kubectl port-forward`.
pub(crate) fn figures(registry: Registry, insight: Insight, verbosity: Verbosity) -> Pages {
    let level = verbosity.clone();
    Pages::new()
        .get("/metrics", move || Answer::ok(CONTENT_TYPE, registry.text()))
        .get_local("/debug/queues", move || Answer::json(&insight.diagnostics()))
        .get_local("/debug/loglevel", move || Answer::json(&json!({"level": level.name()})))
        .put_local("/debug/loglevel", move |given| {
            let wanted = given.trim();
            if verbosity.set(wanted) {
                tracing::info!(level = verbosity.name(), "Log level changed");
                return Answer::json(&json!({"level": verbosity.name()}));
            }
            let text = "send one word: debug, info, warn or error\n";
            Answer::text(StatusCode::BAD_REQUEST, text)
        })
}
