//! Proxies follow late, and each half of a configuration in its own time.

use serde_json::json;
use tidegate_mesh::{Config, Delays, Proxies};

use crate::cluster::{config, from_shop, percents, pod, rule, service, virtual_service};

/// Subset `canary` with a weight, the hash the rule gives it, and pods of these hashes.
fn state(weight: u32, hash: &str, pods: &[&str]) -> Config {
    let mut objects = vec![
        service("web", json!({"app": "web"})),
        rule(&[("stable", "old"), ("canary", hash)]),
        virtual_service(json!({"hosts": ["web"], "http": [{"route": [
            {"destination": {"host": "web", "subset": "stable"}, "weight": 100 - weight},
            {"destination": {"host": "web", "subset": "canary"}, "weight": weight}]}]})),
    ];
    objects.extend(pods.iter().map(|hash| pod(hash, hash)));
    config(&objects)
}

fn proxies(delays: &[(i64, i64)]) -> Proxies {
    Proxies::new(delays.iter().map(|(routes, clusters)| Delays { routes: *routes, clusters: *clusters }))
}

fn canary_share(proxies: &Proxies, proxy: usize, now: i64) -> f64 {
    let shares = percents(&proxies.view(proxy, now), &from_shop("web"));
    shares.iter().filter(|(word, _)| word != "old").map(|(_, share)| share).sum()
}

#[test]
fn a_proxy_sees_a_change_after_its_own_delay() {
    let mut proxies = proxies(&[(100, 0), (500, 0)]);
    proxies.publish(1000, state(0, "new", &["old", "new"]));
    assert_eq!(canary_share(&proxies, 0, 1000), 0.0, "the first is seen at once");
    proxies.publish(2000, state(20, "new", &["old", "new"]));
    let shares = |now| [canary_share(&proxies, 0, now), canary_share(&proxies, 1, now)];
    assert_eq!([shares(2000), shares(2099)], [[0.0, 0.0]; 2]);
    assert_eq!([shares(2100), shares(2499)], [[20.0, 0.0]; 2]);
    assert_eq!(shares(2500), [20.0, 20.0]);
    assert_eq!(proxies.changes(1999, 3000).into_iter().collect::<Vec<_>>(), [2000, 2100, 2500]);
    assert_eq!([proxies.are_settled(2499), proxies.are_settled(2500)], [false, true]);
    assert_eq!(canary_share(&proxies, 7, 3000), 100.0, "a proxy that is not there finds nothing");
}

#[test]
fn routes_may_arrive_before_the_endpoints_they_need() {
    let mut proxies = proxies(&[(0, 300)]);
    proxies.publish(0, state(0, "new", &["old"]));
    proxies.publish(1000, state(10, "new", &["old", "new"]));
    let ends = |now| proxies.dead_ends(now).len();
    assert_eq!([ends(999), ends(1000), ends(1299), ends(1300)], [0, 1, 1, 0]);
}

#[test]
fn weight_that_is_taken_away_is_still_there_for_the_slow_when_pods_go() {
    let mut proxies = proxies(&[(0, 0), (400, 100)]);
    proxies.publish(0, state(50, "new", &["old", "new"]));
    proxies.publish(1000, state(0, "new", &["old", "new"]));
    proxies.publish(1200, state(0, "newer", &["old"]));
    let ends = |now| proxies.dead_ends(now).len();
    assert_eq!([ends(1250), ends(1300), ends(1399), ends(1400)], [0, 1, 1, 0]);
}

#[test]
fn what_nobody_sees_is_dropped_and_what_is_no_news_is_not_kept() {
    let mut proxies = proxies(&[(100, 200)]);
    for step in 0..50 {
        proxies.publish(step * 100, state(u32::try_from(step % 100).unwrap(), "new", &["old", "new"]));
    }
    assert!(proxies.kept() <= 4, "{}", proxies.kept());
    let kept = proxies.kept();
    proxies.publish(5000, state(49, "new", &["old", "new"]));
    assert_eq!(proxies.kept(), kept);
    assert_eq!(canary_share(&proxies, 0, 5100), 49.0);
    assert_eq!(proxies.distinct_views(9000).len(), 1);
}
