//! Header and mirror routes, and what people build with them.

use anyhow::{Result, bail};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::client::once;
use crate::objects::{Level, Plan};
use crate::report::Row;
use crate::server::NOTED;
use crate::shop::Shop;

/// How many requests show that all go one way.
const MANY: u64 = 100;

/// A header route for the canary; `value` as in the API: `exact`, `prefix` or `regex`.
fn header_route(route: &str, header: &str, value: Value) -> Value {
    json!({"setHeaderRoute": {"name": route, "match": [{"headerName": header, "headerValue": value}]}})
}

pub(super) fn routes_plan() -> Plan {
    let mirror = json!({"setMirrorRoute": {"name": "copies", "percentage": 40,
        "match": [{"path": {"prefix": "/copied"}}]}});
    let steps = json!([
        {"setCanaryScale": {"replicas": 1}}, header_route("beta", "x-beta", json!({"exact": "yes"})), mirror, {"pause": {}},
    ]);
    Plan { managed: vec!["beta", "copies"], ..Plan::new(Level::Subset, steps) }
}

/// A header route and a mirror route, seen at the servers, and gone after an abort.
pub(super) fn routes<'b>(shop: &'b mut Shop<'_>) -> BoxFuture<'b, Result<()>> {
    async move {
        shop.update("2").await?;
        shop.paused_at(3).await?;
        shop.measure("everybody", &[("2", 0.0), ("1", 1.0)]).await?;
        shop.expect("x-beta: yes", MANY, &[("x-beta", "yes")], "2").await?;
        shop.expect("x-beta: no", MANY, &[("x-beta", "no")], "1").await?;

        let (sent, mut answered) = (500, 0);
        for _ in 0..sent {
            let answer = once(&shop.target, "/copied", &[(NOTED, "copied")]).await?;
            answered += u64::from(answer.version.as_deref() == Some("1"));
        }
        shop.propagate().await;
        let at = |version| shop.stage.notes.of("copied").iter().filter(|note| note.version == version).count() as u64;
        let (originals, copies) = (at("1"), at("2"));
        shop.note(Row::of("/copied answered by version 1", 1.0, sent, answered));
        shop.note(Row::of("/copied seen once by version 1", 1.0, sent, originals));
        shop.note(Row::of("/copied mirrored to version 2", 0.4, sent, copies));

        shop.abort().await?;
        shop.aborted_to("1").await?;
        shop.propagate().await;
        shop.expect("x-beta: yes after an abort", MANY, &[("x-beta", "yes")], "1").await
    }
    .boxed()
}

pub(super) fn sticky_plan() -> Plan {
    let cookie = json!({"regex": "(.*;\\s*)?track=canary(;.*)?"});
    let steps = json!([
        {"setCanaryScale": {"weight": 25}}, header_route("sticky", "cookie", cookie), {"setWeight": 20}, {"pause": {}},
    ]);
    let headers = json!({"response": {"add": {"set-cookie": "track=canary; Path=/"}}});
    Plan { managed: vec!["sticky"], canary_headers: Some(headers), ..Plan::new(Level::Host, steps) }
}

/// Who has seen the canary stays with it.
pub(super) fn sticky<'b>(shop: &'b mut Shop<'_>) -> BoxFuture<'b, Result<()>> {
    async move {
        shop.update("2").await?;
        shop.paused_at(3).await?;
        shop.measure("newcomers", &[("2", 0.2), ("1", 0.8)]).await?;
        let cookie = lucky(shop).await?;
        shop.expect("with the cookie", MANY, &[("cookie", &cookie)], "2").await?;
        let among_others = format!("session=7; {cookie}; theme=dark");
        shop.expect("with other cookies too", MANY, &[("cookie", &among_others)], "2").await?;
        shop.promote().await?;
        shop.healthy("2").await?;
        shop.measure("complete", &[("2", 1.0)]).await
    }
    .boxed()
}

/// Asks until the canary answers; the cookie it gives. Nobody else may give one.
async fn lucky(shop: &Shop<'_>) -> Result<String> {
    for _ in 0..200 {
        let answer = once(&shop.target, "/", &[]).await?;
        let cookie = answer.headers.get("set-cookie").and_then(|value| value.to_str().ok());
        match (answer.version.as_deref(), cookie) {
            (Some("2"), Some(cookie)) => return Ok(cookie.split(';').next().unwrap_or_default().to_owned()),
            (Some("1"), None) => {}
            other => bail!("version and cookie do not fit: {other:?}"),
        }
    }
    bail!("none of 200 requests came to the canary")
}

pub(super) fn geography_plan(level: Level) -> Plan {
    let countries = json!({"regex": "is|no"});
    let steps = json!([
        {"setCanaryScale": {"replicas": 1}}, header_route("north", "x-country", countries), {"pause": {}},
    ]);
    Plan { managed: vec!["north"], ..Plan::new(level, steps) }
}

/// Some countries first.
pub(super) fn geography<'b>(shop: &'b mut Shop<'_>) -> BoxFuture<'b, Result<()>> {
    async move {
        shop.update("2").await?;
        shop.paused_at(2).await?;
        shop.measure("everybody", &[("2", 0.0), ("1", 1.0)]).await?;
        for (country, version) in [("is", "2"), ("no", "2"), ("pt", "1"), ("iss", "1")] {
            shop.expect(&format!("x-country: {country}"), MANY, &[("x-country", country)], version).await?;
        }
        shop.promote().await?;
        shop.healthy("2").await?;
        shop.measure("complete", &[("2", 1.0)]).await
    }
    .boxed()
}
