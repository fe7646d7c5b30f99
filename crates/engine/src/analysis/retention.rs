//! How many finished AnalysisRuns and Experiments are kept.

use tidegate_api::ObjectMeta;
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::defaults::RUN_HISTORY_LIMIT;
use tidegate_api::names::{analysis_phase, labels};

use super::phase;
use crate::pass::Pass;
use crate::plan::Write;
use crate::sets::SetFacts;

/// An object that may have become superfluous.
pub(crate) struct Finished<'a> {
    pub metadata: &'a ObjectMeta,
    pub phase: &'a str,
}

impl Pass<'_> {
    pub(super) fn apply_history_limits(&mut self, others: &[&AnalysisRun]) {
        let others: Vec<Finished<'_>> =
            others.iter().map(|run| Finished { metadata: &run.metadata, phase: phase(run) }).collect();
        let already: Vec<String> = self
            .plan
            .actions
            .iter()
            .filter_map(|action| match &action.write {
                Write::DeleteAnalysisRun(name) => Some(name.clone()),
                _ => None,
            })
            .collect();
        for name in self.superfluous(others).into_iter().filter(|name| !already.contains(name)) {
            self.act(Write::DeleteAnalysisRun(name));
        }
    }

    /// Names of those beyond the limits, and of those whose ReplicaSet is gone.
    pub(crate) fn superfluous(&self, mut finished: Vec<Finished<'_>>) -> Vec<String> {
        finished.retain(|object| object.metadata.deletion_timestamp.is_none());
        finished.sort_by_key(|object| {
            let created = object.metadata.creation_timestamp.as_ref().map(|time| time.0);
            std::cmp::Reverse((created, object.metadata.name.clone()))
        });
        let limits = self.spec().analysis.as_ref();
        let limit = |limit: Option<i32>| usize::try_from(limit.unwrap_or(RUN_HISTORY_LIMIT)).unwrap_or(0);
        let mut good = limit(limits.and_then(|limits| limits.successful_run_history_limit));
        let mut bad = limit(limits.and_then(|limits| limits.unsuccessful_run_history_limit));
        let mut unlimited = usize::MAX;
        let mut names = Vec::new();
        for object in finished {
            let room = match object.phase {
                analysis_phase::SUCCESSFUL => &mut good,
                phase if analysis_phase::is_completed(phase) => &mut bad,
                // Those that still run keep their place, unless their ReplicaSet is gone.
                _ => &mut unlimited,
            };
            if self.has_set(object.metadata) && *room > 0 {
                *room -= 1;
            } else {
                names.extend(object.metadata.name.clone());
            }
        }
        names
    }

    fn has_set(&self, metadata: &ObjectMeta) -> bool {
        let hash = metadata.labels.as_ref().and_then(|all| all.get(labels::POD_TEMPLATE_HASH));
        hash.is_some_and(|hash| self.sets.all.iter().any(|set| set.hash() == hash && !set.is_being_deleted()))
    }
}
