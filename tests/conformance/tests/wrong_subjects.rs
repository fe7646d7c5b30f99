//! Subjects that are wrong on purpose, each in one way, are found out.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use serde_json::{Value, json};
use tidegate_conformance::compare::{Plan, compare};
use tidegate_conformance::explained::Rule;
use tidegate_conformance::real::Real;
use tidegate_conformance::report::Report;
use tidegate_conformance::subject::{Answer, ClientSubject, Outgoing, Subject, Watch};
use tokio::sync::OnceCell;

static REAL: OnceCell<Real> = OnceCell::const_new();

async fn real() -> &'static Real {
    let start = || async {
        let real = Real::start().await.unwrap();
        real.retire_controllers().await.unwrap();
        real
    };
    REAL.get_or_init(start).await
}

/// A real server whose answers are altered on the way.
struct Wrong {
    inner: ClientSubject,
    alter: fn(&Outgoing, &mut Answer),
    hide: fn(&Value) -> bool,
}

impl Subject for Wrong {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn send(&self, request: Outgoing) -> Answer {
        let mut answer = self.inner.send(request.clone()).await;
        (self.alter)(&request, &mut answer);
        answer
    }

    async fn watch(&self, request: Outgoing) -> Watch {
        self.inner.watch(request).await.hiding(self.hide)
    }
}

async fn report(alter: fn(&Outgoing, &mut Answer), hide: fn(&Value) -> bool, rules: Vec<Rule>) -> Report {
    let real = real().await;
    let left = real.subject("left").await.unwrap();
    let wrong = Wrong { inner: real.subject("right").await.unwrap(), alter, hide };
    // Missing events are waited for, so shortening is left to the test that is about it.
    let shrink = rules.is_empty() && !hide(&json!({"type": "DELETED"}));
    compare(&left, &wrong, &Plan { rules, shrink, concurrency: 4, ..Plan::seeds(0..60) }).await
}

/// The first difference of the most frequent failure.
fn pointers(report: &Report) -> Vec<String> {
    report.failures.values().flat_map(|(_, failure)| failure.differences.iter().map(|d| d.pointer.clone())).collect()
}

fn nothing(_: &Value) -> bool {
    false
}

#[tokio::test]
async fn a_wrong_code_is_found_and_its_story_is_short_and_can_be_replayed() {
    let alter = |request: &Outgoing, answer: &mut Answer| {
        if request.method == "POST" && answer.code == 409 {
            answer.code = 400;
        }
    };
    let found = report(alter, nothing, Vec::new()).await;
    assert!(found.failed > 0 && pointers(&found).iter().all(|pointer| pointer == "/code"), "{found}");
    let (_, shortest) = found.failures.values().min_by_key(|(_, failure)| failure.before.len()).unwrap();
    assert!(shortest.before.len() <= 2, "a conflict needs one request before it: {shortest}");
    let story = found.to_string();
    assert!(story.contains("replay: cargo run -p tidegate-conformance -- --from "), "{story}");
}

#[tokio::test]
async fn a_generation_that_rises_without_reason_is_found() {
    let alter = |request: &Outgoing, answer: &mut Answer| {
        if request.uri.contains("/status")
            && let Some(generation) = answer.body["metadata"]["generation"].as_i64()
        {
            answer.body["metadata"]["generation"] = json!(generation + 1);
        }
    };
    let found = report(alter, nothing, Vec::new()).await;
    assert!(found.failed > 0, "{found}");
    assert!(pointers(&found).iter().all(|pointer| pointer == "/body/metadata/generation"), "{found}");
}

#[tokio::test]
async fn a_version_that_rises_on_an_unchanged_update_is_found() {
    let alter = |request: &Outgoing, answer: &mut Answer| {
        let sent: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let version = answer.body["metadata"]["resourceVersion"].clone();
        if request.method == "PUT" && answer.code == 200 && sent["metadata"]["resourceVersion"] == version {
            let bumped = version.as_str().and_then(|text| text.parse::<u64>().ok()).unwrap_or_default() + 1;
            answer.body["metadata"]["resourceVersion"] = json!(bumped.to_string());
        }
    };
    let found = report(alter, nothing, Vec::new()).await;
    assert!(found.failed > 0, "{found}");
    assert!(pointers(&found).iter().any(|pointer| pointer == "/body/metadata/resourceVersion"), "{found}");
}

#[tokio::test]
async fn a_dropped_event_is_found() {
    let found = report(|_, _| {}, |event| event["type"] == "DELETED", Vec::new()).await;
    assert!(found.failed > 0 && pointers(&found).iter().all(|pointer| pointer.starts_with("/events/")), "{found}");
}

#[tokio::test]
async fn an_extra_field_is_found_and_a_rule_with_a_reason_explains_it() {
    let alter = |_: &Outgoing, answer: &mut Answer| {
        if answer.body["kind"] == "ConfigMap" {
            answer.body["extra"] = json!(true);
        }
    };
    let found = report(alter, nothing, Vec::new()).await;
    assert!(found.failed > 0 && pointers(&found).iter().all(|pointer| pointer == "/body/extra"), "{found}");

    let rule = Rule {
        name: "extra",
        reason: "this subject likes to add something",
        covers: |_, difference| difference.pointer == "/body/extra",
    };
    let explained = report(alter, nothing, vec![rule]).await;
    // The server refuses or warns about the field when it comes back in an update; that is for no rule to hide.
    assert!(explained.explained[0].1 > 0 && explained.failed < found.failed, "{explained}");
}

#[tokio::test]
async fn a_rule_that_covers_nothing_fails_the_run() {
    let rule = Rule { name: "idle", reason: "no reason any more", covers: |_, _| false };
    let found = report(|_, _| {}, nothing, vec![rule]).await;
    assert_eq!((found.failed, found.idle_rules()), (0, vec!["idle"]), "{found}");
    assert!(!found.is_clean());
}
