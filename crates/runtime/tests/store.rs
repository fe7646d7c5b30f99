//! The store: what it keeps when news comes late, twice or in the wrong order.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use serde_json::json;
use tidegate_api::view::Service;
use tidegate_runtime::{Change, Index, Key, Store, is_newer};

fn service(name: &str, uid: &str, version: u64, app: &str) -> Service {
    let json = json!({
        "metadata": {"namespace": "n", "name": name, "uid": uid, "resourceVersion": version.to_string()},
        "spec": {"selector": {"app": app}},
    });
    serde_json::from_value(json).unwrap()
}

fn store() -> Store<Service> {
    Store::new(&[Index { name: "app", of: |service| service.spec.selector.get("app").cloned().into_iter().collect() }])
}

#[test]
fn our_own_write_is_not_replaced_by_older_news() {
    let store = store();
    store.put_own(service("a", "1", 7, "new"));

    assert!(matches!(store.put_own(service("a", "1", 5, "old")), Change::None));

    let found = store.get(&Key::new("n", "a")).unwrap();
    assert_eq!(found.spec.selector["app"], "new");
}

#[test]
fn an_object_made_anew_under_the_same_name_replaces_the_old_one_and_the_dead_stay_dead() {
    let store = store();
    store.put_own(service("a", "1", 7, "one"));
    store.remove_own(&Key::new("n", "a"), "1");
    assert!(store.is_empty());

    assert!(matches!(store.put_own(service("a", "1", 9, "ghost")), Change::None), "late news of a dead object");
    assert!(matches!(store.put_own(service("a", "2", 8, "two")), Change::Applied { .. }));
    assert_eq!(store.len(), 1);
}

#[test]
fn whoever_finds_an_object_gone_is_told_what_it_was() {
    let store = store();
    store.put_own(service("a", "1", 7, "one"));
    assert!(matches!(store.remove_own(&Key::new("n", "a"), "2"), Change::None), "another one of that name");
    assert!(matches!(store.remove_own(&Key::new("n", "a"), "1"), Change::Deleted(_)));
    assert!(matches!(store.remove_own(&Key::new("n", "a"), "1"), Change::None));
}

#[test]
fn indexes_follow_the_objects() {
    let store = store();
    store.put_own(service("a", "1", 1, "x"));
    store.put_own(service("b", "2", 2, "x"));
    assert_eq!(store.find("app", "x").len(), 2);

    store.put_own(service("a", "1", 3, "y"));
    store.remove_own(&Key::new("n", "b"), "2");

    assert!(store.find("app", "x").is_empty());
    assert_eq!(store.find("app", "y").len(), 1);
    assert!(store.find("app", "nothing").is_empty());
}

#[test]
fn versions_are_numbers_and_nonsense_is_never_newer() {
    assert!(is_newer("10", "9"));
    assert!(!is_newer("9", "10") && !is_newer("9", "9") && !is_newer("x", "1"));
    assert!(is_newer("1", "") && is_newer("1", "x"));
}
