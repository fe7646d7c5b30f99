use tidegate_notify::{Config, Marks, StatePlan, on_state};

use super::{Annotated, at, config, rollout, subscribed, variables};

/// A Rollout over time: what is sent is sent well, and marked.
struct Story {
    config: Config,
    object: Annotated,
    marks: Marks,
    seconds: i64,
}

impl Story {
    fn new(trigger: &str) -> Self {
        let config = config(&[("trigger.on-x", trigger)]);
        Self { config, object: subscribed(&[("on-x.slack", "a")]), marks: Marks::default(), seconds: 0 }
    }

    fn plan(&self, phase: &str) -> StatePlan {
        let marks = Marks::read(self.marks.annotation().as_deref());
        on_state(&self.config, None, self.object.subject(), &marks, &variables(&rollout(phase)), at(self.seconds))
    }

    /// How many messages a state sends.
    fn sees(&mut self, phase: &str) -> usize {
        self.seconds += 1;
        let plan = self.plan(phase);
        self.marks = plan.marks;
        plan.send.iter().for_each(|told| self.marks.set(&told.mark, at(self.seconds)));
        plan.send.len()
    }
}

#[test]
fn true_twice_in_a_row_is_one_delivery_and_false_in_between_makes_it_two() {
    let mut story = Story::new("- when: rollout.status.phase == 'Paused'\n  send: [a]");
    let seen = ["Healthy", "Paused", "Paused", "Healthy", "Paused"].map(|phase| story.sees(phase));
    assert_eq!(seen, [0, 1, 0, 0, 1]);
    assert_eq!(
        story.marks.annotation().as_deref(),
        Some("{\"on-x:[0].5vr9Sdyy49dqkmMQG0eH3smtwI0:slack:a\":1772366405}")
    );
    story.sees("Healthy");
    assert_eq!(story.marks.annotation(), None, "without marks there is no annotation");
}

#[test]
fn once_per_value_is_once_however_often_it_turns() {
    let mut story =
        Story::new("- when: rollout.status.phase == 'Paused'\n  oncePer: rollout.status.currentPodHash\n  send: [a]");
    let seen = ["Paused", "Healthy", "Paused", "Paused"].map(|phase| story.sees(phase));
    assert_eq!(seen, [1, 0, 0, 0]);
    assert!(story.marks.annotation().is_some_and(|text| text.contains("\"5f6:on-x:[0].")));
}

#[test]
fn what_was_not_sent_is_not_marked_and_is_sent_the_next_time() {
    let mut story = Story::new("- when: rollout.status.phase == 'Paused'\n  send: [a]");
    let failed = story.plan("Paused");
    assert_eq!(failed.send.len(), 1, "and then the sending fails");
    assert_eq!(story.sees("Paused"), 1);
}

#[test]
fn triggers_without_a_condition_belong_to_events_only() {
    let mut story = Story::new("- send: [a]");
    assert_eq!(story.sees("Paused"), 0);
    let plan = story.plan("Paused");
    assert_eq!(plan.evaluated, [("on-x".to_owned(), false)]);
}

#[test]
fn destinations_are_told_once_and_errors_are_named() {
    let mut story = Story::new(
        "- when: rollout.status.phase == 'Paused'\n  send: [a]\n- when: rollout.nothing.there == 1\n  send: [b]",
    );
    story.object = subscribed(&[("on-x.slack", "a;b;a")]);
    let plan = story.plan("Paused");
    assert_eq!(plan.send.len(), 2);
    assert_eq!(plan.errors.len(), 1);
    assert!(plan.errors[0].starts_with("trigger on-x: when \"rollout.nothing.there == 1\": "), "{}", plan.errors[0]);
    assert_eq!(story.sees("Paused"), 2);
    assert_eq!(story.sees("Paused"), 0);
}

#[test]
fn a_configuration_of_the_namespace_has_marks_of_its_own() {
    let story = Story::new("- when: 'true'\n  send: [a]");
    let seen = variables(&rollout("Paused"));
    let plan = on_state(&story.config, Some("shop"), story.object.subject(), &story.marks, &seen, at(0));
    assert!(plan.send[0].mark.starts_with("shop:on-x:[0]."), "{}", plan.send[0].mark);
}
