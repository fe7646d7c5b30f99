//! How many old ReplicaSets are kept for going back.

use tidegate_api::names::labels;
use tidegate_api::view::ReplicaSet;

use crate::experiment::has_pods;
use crate::mutation::{self, Mutation};
use crate::pass::Pass;
use crate::plan::Write;
use crate::sets::SetFacts;

impl Pass<'_> {
    /// Deletes old sets beyond the limit, oldest first, and with each its analyses and experiments.
    ///
    /// A set that still has pods keeps its place in the surplus: nothing younger is deleted in its stead.
    pub(crate) fn clean_up_history(&mut self) {
        let limit = usize::try_from(self.spec().revision_history_limit_or_default()).unwrap_or(0);
        let candidates: Vec<&ReplicaSet> =
            self.sets.other.iter().copied().filter(|set| !set.is_being_deleted()).collect();
        let surplus = candidates.len().saturating_sub(limit);
        for set in candidates.into_iter().take(surplus).filter(|set| is_idle(set)) {
            self.act(Write::DeleteSet(set.id()));
            self.delete_children_of(set.hash());
        }
    }

    fn delete_children_of(&mut self, hash: &str) {
        let has_hash = |metadata: &tidegate_api::ObjectMeta| {
            metadata
                .labels
                .as_ref()
                .is_some_and(|all| all.get(labels::POD_TEMPLATE_HASH).is_some_and(|own| own == hash))
        };
        let current = self.current_run_names();
        let runs = self.seen.analysis_runs.iter().filter(|run| has_hash(&run.metadata));
        let runs = runs.filter_map(|run| run.metadata.name.clone()).filter(|name| !current.contains(name));
        let experiments = self.seen.experiments.iter().filter(|found| has_hash(&found.metadata) && !has_pods(found));
        let writes: Vec<Write> = runs
            .map(Write::DeleteAnalysisRun)
            .chain(experiments.filter_map(|found| found.metadata.name.clone()).map(Write::DeleteExperiment))
            .collect();
        for write in writes {
            self.act(write);
        }
    }
}

fn is_idle(set: &ReplicaSet) -> bool {
    let size = set.size();
    if mutation::is(Mutation::DeletesSetsWithPods) {
        return true;
    }
    size.spec == 0 && size.actual == 0 && set.status.observed_generation >= set.metadata.generation.unwrap_or_default()
}
