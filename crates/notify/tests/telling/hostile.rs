use std::collections::BTreeMap;

use proptest::prelude::*;
use tidegate_notify::{Config, Marks, on_event, on_state};

use super::{now, rollout, secrets, subscribed, texts, variables};

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,8}",
        prop::sample::select(vec![
            "- ",
            "\n",
            "  ",
            "when: ",
            "send: [a]",
            "oncePer: ",
            "rollout",
            ".status",
            "$",
            "$token",
            "{{",
            "}}",
            ": ",
            "[",
            "]",
            "{",
            "}",
            "message: ",
            "&a ",
            "*a",
            "\"",
            "'",
            "|",
            "recipients: ",
            "selector: ",
            "slack:a",
            "true",
            "- when: 'true'\n  send: [t]",
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_configuration_makes_it_panic(
        key in prop::sample::select(vec!["trigger.on-x", "template.t", "service.webhook.hook", "service.email", "subscriptions", "defaultTriggers"]),
        pieces in prop::collection::vec(piece(), 0..12),
        annotation in "\\PC{0,40}",
    ) {
        let value = pieces.concat();
        let mut entries = texts(&[("trigger.on-y", "- when: 'true'\n  send: [t]"), ("template.t", "message: x")]);
        entries.insert(key.to_owned(), value);
        let config = Config::read(&entries, &secrets(&[("token", "secret")]));
        let mut object = subscribed(&[("on-x.hook", "a"), ("on-y.slack", "b")]);
        object.annotations.insert("notifications.argoproj.io/subscriptions".to_owned(), annotation.clone());
        let seen = variables(&rollout("Paused"));
        let sent = on_event(&config, object.subject(), "X", &seen, now());
        let plan = on_state(&config, None, object.subject(), &Marks::read(Some(&annotation)), &seen, now());
        for sending in sent.iter().chain(plan.send.iter().map(|told| &told.sending)) {
            if let Ok(notification) = config.notification(sending, &seen, now()) {
                drop(config.conversation(&notification, &sending.destination, &BTreeMap::new(), now()));
            }
        }
        prop_assert!(config.triggers.contains_key("on-y") || key == "trigger.on-y");
    }
}
