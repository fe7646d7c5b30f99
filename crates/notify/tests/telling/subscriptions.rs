use std::collections::BTreeMap;

use tidegate_notify::{Config, destinations};

use super::{Annotated, config, subscribed, texts};

fn told(config: &Config, object: &Annotated) -> Vec<(String, String)> {
    let found: BTreeMap<_, _> = destinations(config, object.subject());
    let pairs = found.into_iter().flat_map(|(trigger, places)| {
        places.into_iter().map(move |place| (trigger.clone(), place.to_string())).collect::<Vec<_>>()
    });
    pairs.collect()
}

fn pairs(wanted: &[(&str, &str)]) -> Vec<(String, String)> {
    wanted.iter().map(|(trigger, place)| ((*trigger).to_owned(), (*place).to_owned())).collect()
}

#[test]
fn recipients_stand_between_semicolons_and_none_is_one_without_a_name() {
    let empty = Config::default();
    assert_eq!(
        told(&empty, &subscribed(&[("on-x.slack", "a; b ;")])),
        pairs(&[("on-x", "slack:a"), ("on-x", "slack:b")])
    );
    assert_eq!(told(&empty, &subscribed(&[("on-x.hook", "")])), pairs(&[("on-x", "hook:")]));
    assert_eq!(told(&empty, &subscribed(&[("on-x.y.slack", "a")])), []);
    assert_eq!(told(&empty, &subscribed(&[("slack", "a")])), [], "there are no default triggers");
}

#[test]
fn a_subscription_without_triggers_takes_those_of_its_service_or_the_default_ones() {
    let config = config(&[("defaultTriggers", "[on-a]"), ("defaultTriggers.slack", "[on-b, on-c]")]);
    let object = subscribed(&[("slack", "s"), ("hook", "")]);
    assert_eq!(told(&config, &object), pairs(&[("on-a", "hook:"), ("on-b", "slack:s"), ("on-c", "slack:s")]));
}

#[test]
fn a_list_of_subscriptions_is_read_and_what_does_not_fit_is_left_out() {
    let config = config(&[("defaultTriggers", "[on-d]")]);
    let list = "\n- trigger: [on-x, on-y]\n  destinations:\n  - service: slack\n    recipients: [a, b]\n- destinations:\n  - service: hook\n- 5\n- destinations: [{recipients: [x]}]\n";
    let mut object = subscribed(&[]);
    object.annotations = texts(&[("notifications.argoproj.io/subscriptions", list)]);
    let wanted =
        [("on-d", "hook:"), ("on-x", "slack:a"), ("on-x", "slack:b"), ("on-y", "slack:a"), ("on-y", "slack:b")];
    assert_eq!(told(&config, &object), pairs(&wanted));
    object.annotations = texts(&[("notifications.argoproj.io/subscriptions", "{{ not yaml")]);
    assert_eq!(told(&config, &object), []);
}

#[test]
fn subscriptions_for_all_look_at_labels_and_come_first() {
    let config = config(&[
        ("defaultTriggers", "[on-d]"),
        (
            "subscriptions",
            "- recipients: [slack:all, 'hook', 'url:http://h:80/x']\n  triggers: [on-x]\n- recipients: [slack:web]\n  selector: app=web\n- recipients: [slack:api]\n  selector: app=api\n",
        ),
    ]);
    let wanted = [
        ("on-d", "slack:web"),
        ("on-x", "slack:all"),
        ("on-x", "hook:"),
        ("on-x", "url:http://h:80/x"),
        ("on-x", "slack:own"),
    ];
    assert_eq!(told(&config, &subscribed(&[("on-x.slack", "own")])), pairs(&wanted));
}
