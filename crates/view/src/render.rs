//! The text of `get rollout` and `get experiment`.

use jiff::Timestamp;

use crate::images::{Image, images};
use crate::info::{ExperimentInfo, RolloutInfo};
use crate::paint::Paint;
use crate::tree;

/// Where values begin.
const LABEL: usize = 17;

/// A Rollout: its header and its tree, byte for byte what scripts know.
pub fn rollout_text(info: &RolloutInfo, now: Timestamp, paint: Paint) -> String {
    text(info, now, paint, &[])
}

/// The same with a line that says what it waits for, for people.
pub fn rollout_text_wide(info: &RolloutInfo, now: Timestamp, paint: Paint) -> String {
    text(info, now, paint, &info.waiting_for)
}

fn text(info: &RolloutInfo, now: Timestamp, paint: Paint, waiting: &[String]) -> String {
    let mut header = Header::new(&info.object_meta.name, &info.object_meta.namespace);
    header.status(info.icon, &info.status, &info.message, paint);
    for (index, thing) in waiting.iter().enumerate() {
        header.line(if index == 0 { "Waiting for:" } else { "" }, thing);
    }
    header.line("Strategy:", info.strategy);
    if info.strategy == "Canary" {
        header.line("  Step:", &info.step);
        header.line("  SetWeight:", &info.set_weight);
        header.line("  ActualWeight:", &info.actual_weight);
    }
    header.images(&images(&info.replica_sets, &info.experiments), paint);
    header.0.push_str("Replicas:\n");
    header.line("  Desired:", &info.desired.to_string());
    header.line("  Current:", &info.current.to_string());
    header.line("  Updated:", &info.updated.to_string());
    header.line("  Ready:", &info.ready.to_string());
    header.line("  Available:", &info.available.to_string());
    format!("{}\n{}", header.0, tree::of_rollout(info, now, paint))
}

/// An Experiment: its header and its tree.
pub fn experiment_text(info: &ExperimentInfo, now: Timestamp, paint: Paint) -> String {
    let mut header = Header::new(&info.object_meta.name, &info.object_meta.namespace);
    header.status(info.icon, &info.status, &info.message, paint);
    header.images(&images(&[], std::slice::from_ref(info)), paint);
    format!("{}\n{}", header.0, tree::of_experiment(info, now, paint))
}

struct Header(String);

impl Header {
    fn new(name: &str, namespace: &str) -> Self {
        let mut header = Self(String::new());
        header.line("Name:", name);
        header.line("Namespace:", namespace);
        header
    }

    fn line(&mut self, label: &str, value: &str) {
        self.0.push_str(&format!("{label:LABEL$}{value}\n"));
    }

    fn status(&mut self, icon: &str, status: &str, message: &str, paint: Paint) {
        self.line("Status:", &format!("{} {status}", paint.icon(icon)));
        if !message.is_empty() {
            self.line("Message:", message);
        }
    }

    fn images(&mut self, images: &[Image], paint: Paint) {
        for (index, image) in images.iter().enumerate() {
            let tags: Vec<String> = image.tags.iter().map(|tag| paint.tag(tag)).collect();
            let tags = if tags.is_empty() { String::new() } else { format!(" ({})", tags.join(", ")) };
            self.line(if index == 0 { "Images:" } else { "" }, &format!("{}{tags}", image.image));
        }
    }
}
