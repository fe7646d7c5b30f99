//! Writes of AnalysisRuns and Experiments.

use kube::api::{DeleteParams, Patch};
use serde_json::json;
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::experiment::Experiment;
use tidegate_api::names::analysis_phase;
use tidegate_api::wire::Text;

use super::{Execution, patch_params, post_params};
use crate::cache::controller_of;
use crate::error::LookError;
use crate::uncertain::Kind;

fn is_exists(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_already_exists())
}

fn is_missing(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_not_found())
}

impl Execution<'_> {
    fn is_own(&self, metadata: &tidegate_api::ObjectMeta) -> bool {
        controller_of(metadata).is_some_and(|owner| Some(&owner.uid) == self.seen.rollout.metadata.uid.as_ref())
    }

    /// Makes a run. One of that name, unfinished, ours and alike, is the very one: the cache was late.
    pub(super) async fn create_run(&self, run: &AnalysisRun) -> Result<(), LookError> {
        let name = run.metadata.name.text();
        let error = match self.api::<AnalysisRun>().create(&post_params(), run).await {
            Ok(made) => {
                self.executor.cache.analysis_runs.put_own(made);
                return Ok(());
            }
            Err(error) => error,
        };
        if is_exists(&error)
            && let Ok(existing) = self.api::<AnalysisRun>().get(name).await
        {
            let phase = existing.status.as_ref().map_or("", |status| status.phase.text()).to_owned();
            let alike = (&existing.spec.metrics, &existing.spec.args, &existing.spec.dry_run)
                == (&run.spec.metrics, &run.spec.args, &run.spec.dry_run)
                && existing.spec.measurement_retention == run.spec.measurement_retention;
            let is_it = alike && self.is_own(&existing.metadata) && !analysis_phase::is_completed(&phase);
            self.executor.cache.analysis_runs.put_own(existing);
            if is_it {
                return Ok(());
            }
        }
        Err(self.failed("create", Kind::AnalysisRun, name, error))
    }

    pub(super) async fn create_experiment(&self, experiment: &Experiment) -> Result<(), LookError> {
        let name = experiment.metadata.name.text();
        let error = match self.api::<Experiment>().create(&post_params(), experiment).await {
            Ok(made) => {
                self.executor.cache.experiments.put_own(made);
                return Ok(());
            }
            Err(error) => error,
        };
        if is_exists(&error)
            && let Ok(existing) = self.api::<Experiment>().get(name).await
        {
            let phase = existing.status.as_ref().map_or("", |status| status.phase.text()).to_owned();
            let mut spec = existing.spec.clone();
            spec.terminate.clone_from(&experiment.spec.terminate);
            let is_it =
                spec == experiment.spec && self.is_own(&existing.metadata) && !analysis_phase::is_completed(&phase);
            self.executor.cache.experiments.put_own(existing);
            if is_it {
                return Ok(());
            }
        }
        Err(self.failed("create", Kind::Experiment, name, error))
    }

    pub(super) async fn terminate_run(&self, name: &str) -> Result<(), LookError> {
        let patch = json!({"spec": {"terminate": true}});
        match self.api::<AnalysisRun>().patch(name, &patch_params(), &Patch::Merge(&patch)).await {
            Ok(run) => {
                self.executor.cache.analysis_runs.put_own(run);
                Ok(())
            }
            Err(error) if is_missing(&error) => Ok(()),
            Err(error) => Err(self.failed("patch", Kind::AnalysisRun, name, error)),
        }
    }

    pub(super) async fn terminate_experiment(&self, name: &str) -> Result<(), LookError> {
        let patch = json!({"spec": {"terminate": true}});
        match self.api::<Experiment>().patch(name, &patch_params(), &Patch::Merge(&patch)).await {
            Ok(experiment) => {
                self.executor.cache.experiments.put_own(experiment);
                Ok(())
            }
            Err(error) if is_missing(&error) => Ok(()),
            Err(error) => Err(self.failed("patch", Kind::Experiment, name, error)),
        }
    }

    pub(super) async fn delete_run(&self, name: &str) -> Result<(), LookError> {
        match self.api::<AnalysisRun>().delete(name, &DeleteParams::background()).await {
            Ok(_) => {}
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(self.failed("delete", Kind::AnalysisRun, name, error)),
        }
        let uid = self.executor.cache.analysis_runs.get(&self.key_of(name)).and_then(|run| run.metadata.uid.clone());
        self.executor.cache.analysis_runs.remove_own(&self.key_of(name), uid.text());
        Ok(())
    }

    pub(super) async fn delete_experiment(&self, name: &str) -> Result<(), LookError> {
        match self.api::<Experiment>().delete(name, &DeleteParams::background()).await {
            Ok(_) => {}
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(self.failed("delete", Kind::Experiment, name, error)),
        }
        let uid = self.executor.cache.experiments.get(&self.key_of(name)).and_then(|found| found.metadata.uid.clone());
        self.executor.cache.experiments.remove_own(&self.key_of(name), uid.text());
        Ok(())
    }
}
