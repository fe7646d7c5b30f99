//! ReplicaSets, Deployments and Jobs: sends what the planners want.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1 as core;
use kube::api::{DeleteParams, Patch};
use kube::core::Request;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tidegate_bare::Bare;

use super::requests::{Trouble, answer, ask, by, code, patched_by};
use super::{Manager, Work};
use crate::controllers::pods::Pod;
use crate::controllers::{deployment, job, replica_set};
use crate::objects::Key;

impl Manager {
    pub(super) async fn replica_set(&mut self, key: &Key) -> Result<(), Trouble> {
        let Some(set) = self.sets.get(key).cloned() else {
            self.made.remove(&Work::ReplicaSet(key.clone()));
            return Ok(());
        };
        let uid = set.uid().unwrap_or_default();
        let pods: Vec<&Pod> = self.pods.controlled_by(&uid).collect();
        let mut plan = replica_set::plan(&set, &pods, self.clock.now_seconds());
        if plan.create > 0 && !self.may_make(Work::ReplicaSet(key.clone())) {
            plan.create = 0;
        }
        let changes = plan.create + plan.delete.len();
        if changes > 0 {
            self.change_pods(&key.0, plan.create, &replica_set::pod_of(&set), &plan.delete).await?;
            self.due.insert(Work::ReplicaSet(key.clone()));
        }
        if let Some(status) = plan.status {
            let sets: Api<Bare<ReplicaSet>> = Api::namespaced(self.client.clone(), &key.0);
            let wanted = Bare(ReplicaSet { status: Some(status), ..ReplicaSet::clone(&set) });
            let Bare(written) = ask(sets.replace_status(&key.1, &by(), &wanted)).await?;
            self.enqueue_owner(&written.metadata, "Deployment", Work::Deployment);
            self.sets.put(written);
        }
        if let Some(at) = plan.wake_at {
            self.wake(Work::ReplicaSet(key.clone()), at);
        }
        Ok(())
    }

    async fn change_pods(
        &mut self,
        namespace: &str,
        create: usize,
        pod: &core::Pod,
        delete: &[String],
    ) -> Result<(), Trouble> {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        for _ in 0..create {
            let created = ask(create_pod(&self.client, &api, pod)).await?;
            self.pods.put(created);
        }
        for name in delete {
            let gone = (namespace.to_owned(), name.clone());
            match answer(api.delete(name, &DeleteParams::default())).await? {
                Ok(response) => match response.left() {
                    Some(pod) => drop(self.pods.put(pod)),
                    None => drop(self.pods.remove(&gone)),
                },
                Err(error) if code(&error) == 404 => drop(self.pods.remove(&gone)),
                Err(_) => return Err(Trouble::Refused),
            }
        }
        Ok(())
    }

    pub(super) async fn job(&mut self, key: &Key) -> Result<(), Trouble> {
        let Some(found) = self.jobs.get(key).cloned() else {
            self.made.remove(&Work::Job(key.clone()));
            return Ok(());
        };
        let uid = found.uid().unwrap_or_default();
        let pods: Vec<&Pod> = self.pods.controlled_by(&uid).collect();
        let mut plan = job::plan(&found, &pods, self.clock.now_seconds());
        if plan.create > 0 && !self.may_make(Work::Job(key.clone())) {
            plan.create = 0;
        }
        if plan.create + plan.delete.len() > 0 {
            self.change_pods(&key.0, plan.create, &job::pod_of(&found), &plan.delete).await?;
        }
        if let Some(status) = plan.status {
            let jobs: Api<Bare<Job>> = Api::namespaced(self.client.clone(), &key.0);
            let wanted = Bare(Job { status: Some(status), ..Job::clone(&found) });
            let Bare(written) = ask(jobs.replace_status(&key.1, &by(), &wanted)).await?;
            self.jobs.put(written);
        }
        if plan.create > 0 {
            self.due.insert(Work::Job(key.clone()));
        }
        if let Some(at) = plan.wake_at {
            self.wake(Work::Job(key.clone()), at);
        }
        Ok(())
    }

    pub(super) async fn deployment(&mut self, key: &Key) -> Result<(), Trouble> {
        let Some(found) = self.deployments.get(key).cloned() else {
            self.made.remove(&Work::Deployment(key.clone()));
            return Ok(());
        };
        let uid = found.uid().unwrap_or_default();
        let sets: Vec<&ReplicaSet> = self.sets.controlled_by(&uid).collect();
        let plan = deployment::plan(&found, &sets, self.clock.now_seconds());
        let makes = plan.writes.iter().any(|write| matches!(write, deployment::Write::CreateSet(_)));
        if makes && !self.may_make(Work::Deployment(key.clone())) {
            return Ok(());
        }
        for write in plan.writes {
            self.deployment_write(key, write).await?;
        }
        Ok(())
    }

    async fn deployment_write(&mut self, key: &Key, write: deployment::Write) -> Result<(), Trouble> {
        let sets: Api<Bare<ReplicaSet>> = Api::namespaced(self.client.clone(), &key.0);
        match write {
            deployment::Write::CreateSet(set) => {
                let Bare(created) = ask(sets.create(&by(), &Bare(*set))).await?;
                self.sets.put(created);
            }
            deployment::Write::UpdateSet { name, replicas, annotations } => {
                // Decided from what was known of the set: if it has changed since, the decision must be made again.
                let known = self.sets.get(&(key.0.clone(), name.clone()));
                let version = known.and_then(|set| set.resource_version());
                let metadata = json!({"annotations": annotations, "resourceVersion": version});
                let patch = Patch::Merge(json!({"metadata": metadata, "spec": {"replicas": replicas}}));
                let Bare(written) = ask(sets.patch(&name, &patched_by(), &patch)).await?;
                self.sets.put(written);
            }
            deployment::Write::DeleteSet(name) => {
                match answer(sets.delete(&name, &DeleteParams::background())).await? {
                    Err(error) if code(&error) != 404 => return Err(Trouble::Refused),
                    _ => drop(self.sets.remove(&(key.0.clone(), name))),
                }
            }
            // Through the status endpoint, as the real controller does: a change of annotations there leaves the
            // generation alone.
            deployment::Write::Annotate(annotations) => {
                self.deployment_status(key, |wanted| {
                    wanted.metadata.annotations.get_or_insert_default().extend(annotations);
                })
                .await?;
            }
            deployment::Write::Status(status) => {
                self.deployment_status(key, |wanted| wanted.status = Some(*status)).await?;
            }
        }
        self.due.insert(Work::Deployment(key.clone()));
        Ok(())
    }

    async fn deployment_status(&mut self, key: &Key, change: impl FnOnce(&mut Deployment)) -> Result<(), Trouble> {
        let Some(mut wanted) = self.deployments.get(key).map(|found| Deployment::clone(found)) else { return Ok(()) };
        change(&mut wanted);
        let deployments: Api<Bare<Deployment>> = Api::namespaced(self.client.clone(), &key.0);
        let Bare(written) = ask(deployments.replace_status(&key.1, &by(), &Bare(wanted))).await?;
        self.deployments.put(written);
        Ok(())
    }
}

/// Sends a whole pod; of the answer only what controllers look at is read.
async fn create_pod(client: &Client, api: &Api<Pod>, pod: &core::Pod) -> Result<Pod, kube::Error> {
    let body = serde_json::to_vec(pod).map_err(kube::Error::SerdeError)?;
    let request = Request::new(api.resource_url()).create(&by(), body).map_err(kube::Error::BuildRequest)?;
    client.request(request).await
}
