//! A Rollout that takes its pod template from another object.

use tidegate_api::names::{annotations, condition, phase, scale_down};
use tidegate_api::wire::Text;
use tidegate_validate::references::workload::WorkloadKind;

use crate::conditions;
use crate::mutation::{self, Mutation};
use crate::observed::{SeenWorkload, Workload};
use crate::pass::Pass;
use crate::plan::Write;

impl Pass<'_> {
    /// The generation of the workload whose template is in force.
    pub(crate) fn workload_generation(&self) -> Option<String> {
        self.workload().map(|workload| workload.generation.to_string())
    }

    fn workload(&self) -> Option<&Workload> {
        match &self.seen.workload {
            SeenWorkload::Found(workload) if self.spec().workload_ref.is_some() => Some(workload),
            _ => None,
        }
    }

    /// Notes on the Rollout which generation of the workload it follows.
    pub(crate) fn note_workload_generation(&mut self) {
        let noted =
            self.rollout.metadata.annotations.as_ref().and_then(|all| all.get(annotations::WORKLOAD_GENERATION));
        if let Some(generation) = self.workload_generation()
            && noted != Some(&generation)
        {
            self.act(Write::SetWorkloadGeneration(generation));
        }
    }

    /// Whether the workload is scaled down in this way.
    fn is_scaled_down(&self, mode: &str) -> bool {
        let Some(reference) = &self.spec().workload_ref else { return false };
        let is_deployment = WorkloadKind::of(reference) == Ok(WorkloadKind::Deployment);
        is_deployment && reference.scale_down.text() == mode
    }

    /// Whether it still is: in the first revision, and later until the Rollout has once been healthy in its place.
    /// After that people may scale it up again, to go back.
    fn scales_down(&self, mode: &str) -> bool {
        self.is_scaled_down(mode) && (self.is_first_revision() || !self.has_been_healthy())
    }

    /// This condition comes with the first time and stays.
    fn has_been_healthy(&self) -> bool {
        conditions::get(self.old, condition::HEALTHY).is_some()
    }

    fn is_first_revision(&self) -> bool {
        self.revision == 1
    }

    fn is_stored_healthy(&self) -> bool {
        self.old.phase.text() == phase::HEALTHY
    }

    fn scale_workload(&mut self, replicas: i32) {
        let current = self.workload().and_then(|workload| workload.replicas);
        let name = self.spec().workload_ref.as_ref().map(|reference| reference.name.text().to_owned());
        if let (Some(current), Some(name)) = (current, name)
            && current != replicas
        {
            self.act(Write::ScaleWorkload { name, replicas });
        }
    }

    /// Scales the workload to nothing once the Rollout is healthy.
    pub(crate) fn scale_workload_after_success(&mut self) {
        let is_healthy = self.is_stored_healthy() || mutation::is(Mutation::ReplacesTheDeploymentTooEarly);
        if self.scales_down(scale_down::ON_SUCCESS) && is_healthy {
            self.scale_workload(0);
        }
    }

    /// Scales the workload to nothing when the Rollout is healthy for the first time, if that comes after the first
    /// revision. The phase is not stored yet then, and afterwards nothing tells that it was the first time.
    pub(crate) fn replace_workload(&mut self) {
        let is_meant = self.is_scaled_down(scale_down::ON_SUCCESS) || self.is_scaled_down(scale_down::PROGRESSIVELY);
        if is_meant && !self.is_first_revision() && !self.has_been_healthy() {
            self.scale_workload(0);
        }
    }

    /// Scales the workload down by as many pods as the Rollout has ready.
    pub(crate) fn scale_workload_progressively(&mut self) {
        if !self.scales_down(scale_down::PROGRESSIVELY) {
            return;
        }
        let ready = self.old.ready_replicas.unwrap_or(0);
        if self.is_stored_healthy() {
            self.scale_workload(0);
        } else if ready > 0 {
            self.scale_workload(self.replicas().saturating_sub(ready).max(0));
        }
    }
}
