//! Templates that cannot work are told about as soon as somebody writes them.

use tidegate_analysis::examine_template;
use tidegate_api::ObjectMeta;
use tidegate_api::analysis::{AnalysisTemplate, AnalysisTemplateSpec, ClusterAnalysisTemplate};
use tidegate_api::kind::API_VERSION;
use tidegate_api::wire::{Items, Text};
use tidegate_engine::Event;
use tidegate_providers::examine;
use tidegate_runtime::{Change, Stored};

use crate::controller::Shared;

/// As many as anybody reads at once.
const MOST_TOLD: usize = 3;
/// Templates that were written longer ago were told about when they were.
const NEWS_SECONDS: i64 = 300;

/// Something with the spec of a template.
pub(crate) trait Template {
    const KIND: &'static str;
    fn parts(&self) -> (&ObjectMeta, &AnalysisTemplateSpec);
}

impl Template for AnalysisTemplate {
    const KIND: &'static str = "AnalysisTemplate";

    fn parts(&self) -> (&ObjectMeta, &AnalysisTemplateSpec) {
        (&self.metadata, &self.spec)
    }
}

impl Template for ClusterAnalysisTemplate {
    const KIND: &'static str = "ClusterAnalysisTemplate";

    fn parts(&self) -> (&ObjectMeta, &AnalysisTemplateSpec) {
        (&self.metadata, &self.spec)
    }
}

/// Tells what is wrong with a template that is new or was changed.
pub(crate) fn template_written<T: Template>(shared: &Shared, change: &Change<T>) {
    let Change::Applied { old, new: Stored::Good(new) } = change else { return };
    let (metadata, spec) = new.parts();
    let is_news = match old {
        Some(Stored::Good(old)) => old.parts().1 != spec,
        _ => is_young(shared, metadata),
    };
    if !is_news {
        return;
    }
    let problems: Vec<String> = examine_template(spec)
        .into_iter()
        .chain(examine(spec.metrics.items()))
        .map(|found| found.to_string())
        .collect();
    if problems.is_empty() {
        return;
    }
    let more = problems.len().saturating_sub(MOST_TOLD);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let told = problems.into_iter().take(MOST_TOLD).collect::<Vec<_>>().join("; ");
    let message = format!("{} '{}': {told}{more}", T::KIND, metadata.name.text());
    shared.executor.events.tell_about(metadata, T::KIND, API_VERSION, &Event::warning("InvalidTemplate", message));
}

fn is_young(shared: &Shared, metadata: &ObjectMeta) -> bool {
    let now = shared.executor.clock.now();
    metadata.creation_timestamp.as_ref().is_some_and(|made| now.duration_since(made.0).as_secs() < NEWS_SECONDS)
}
