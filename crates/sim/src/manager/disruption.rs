//! Status of disruption budgets.

use std::collections::BTreeSet;

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Api;

use super::requests::{Trouble, ask, by};
use super::{Manager, Work};
use crate::controllers::disruption;
use crate::controllers::pods::Pod;
use crate::objects::Key;

impl Manager {
    pub(super) async fn budget(&mut self, key: &Key) -> Result<(), Trouble> {
        let Some(found) = self.budgets.get(key).cloned() else { return Ok(()) };
        let pods: Vec<&Pod> = self.pods.within(&key.0).filter(|pod| disruption::covers(&found, pod)).collect();
        let plan = disruption::plan(&found, &pods, self.asked_for(&key.0, &pods), self.clock.now_seconds());
        if let Some(at) = plan.wake_at {
            self.wake(Work::Budget(key.clone()), at);
        }
        if let Some(status) = plan.status {
            let api: Api<PodDisruptionBudget> = Api::namespaced(self.client.clone(), &key.0);
            let wanted = PodDisruptionBudget { status: Some(status), ..PodDisruptionBudget::clone(&found) };
            // With the version it was decided from: an eviction granted meanwhile must not be forgotten.
            let written = ask(api.replace_status(&key.1, &by(), &wanted)).await?;
            self.budgets.put(written);
        }
        Ok(())
    }

    /// How many pods the controllers of these pods ask for, each counted once. Pods of kinds whose size is not known
    /// here count for themselves.
    fn asked_for(&self, namespace: &str, pods: &[&Pod]) -> i32 {
        let mut seen = BTreeSet::new();
        let mut asked = 0;
        for pod in pods {
            let owner = pod.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
            let Some(owner) = owner else { continue };
            let set = self.sets.get(&(namespace.to_owned(), owner.name.clone()));
            let Some(set) = set.filter(|_| owner.kind == "ReplicaSet") else {
                asked += 1;
                continue;
            };
            let above = set.metadata.owner_references.iter().flatten().find(|owner| owner.kind == "Deployment");
            let deployment = above.and_then(|above| self.deployments.get(&(namespace.to_owned(), above.name.clone())));
            let (uid, size) = match (above, deployment) {
                (Some(above), Some(deployment)) => (&above.uid, deployment.spec.replicas),
                _ => (&owner.uid, set.spec.replicas),
            };
            if seen.insert(uid.clone()) {
                asked += size.unwrap_or(1);
            }
        }
        asked
    }
}
