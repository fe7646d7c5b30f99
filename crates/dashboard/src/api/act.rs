//! Changes: with the rights of whoever asks, and a line in the log.

use http::request::Parts;
use serde_json::Value;
use tidegate_cluster::actions::{self, Patch, Promotion, Wanted};
use tidegate_cluster::{Cluster, ROLLOUTS};
use tidegate_runtime::Key;

use super::App;
use crate::answer::{Answer, Refusal, json_value};
use crate::auth::Visitor;
use crate::route::Action;

/// What is said where nothing may be changed.
pub(super) const READ_ONLY: &str = "this dashboard is read-only";

/// Verbs and subresources that each change of a page needs.
pub(super) const NEEDS: &[(&str, &[(&str, &str)])] = &[
    ("promote", &[("get", ""), ("patch", "status")]),
    ("abort", &[("patch", "status")]),
    ("retry", &[("patch", "status")]),
    ("restart", &[("patch", "")]),
    ("pause", &[("patch", "")]),
    ("resume", &[("get", ""), ("patch", "")]),
    ("undo", &[("get", ""), ("patch", "")]),
    ("setImage", &[("get", ""), ("update", "")]),
];

impl App {
    pub(super) async fn act(
        &self,
        head: &Parts,
        visitor: &Visitor,
        key: &Key,
        action: Action,
        body: &Value,
    ) -> Result<Answer, Refusal> {
        let name = action.name();
        if self.options.is_read_only {
            return Err(Refusal::forbidden(READ_ONLY));
        }
        let cluster = visitor.cluster(&key.namespace);
        let done = self.perform(&cluster, &key.name, action, body).await;
        match &done {
            Ok(_) => tracing::info!(user = visitor.name, action = name, rollout = %key, "done"),
            Err(refusal) => {
                tracing::warn!(user = visitor.name, action = name, rollout = %key, error = refusal.message, "refused");
            }
        }
        let mut rollout = done?;
        if let Some(fields) = rollout.as_object_mut() {
            fields.remove("apiVersion");
            fields.remove("kind");
        }
        Ok(json_value(&head.headers, &rollout))
    }

    /// Changes the Rollout and returns it as it is afterwards.
    async fn perform(&self, cluster: &Cluster, name: &str, action: Action, body: &Value) -> Result<Value, Refusal> {
        let patch = match action {
            Action::Abort => Patch::Abort,
            Action::Retry => Patch::Retry,
            Action::Pause => Patch::Pause,
            Action::Restart => Patch::RestartAt(self.clock.now_seconds()),
            Action::Promote => {
                let full = match body.get("full") {
                    None | Some(Value::Null) => false,
                    Some(Value::Bool(full)) => *full,
                    Some(other) => return Err(Refusal::invalid(format!("full: {other} is neither true nor false"))),
                };
                let rollout = actions::read(cluster, name, full).await?;
                let promotion = Promotion { full, ..Promotion::default() };
                let sent = actions::promote(cluster, name, &rollout, promotion).await?;
                return self.fresh(cluster, name, sent).await;
            }
            Action::Resume => {
                actions::resume(cluster, name).await?;
                return self.fresh(cluster, name, None).await;
            }
            Action::Undo(revision) => {
                let number = revision.parse::<i64>();
                let number = number.map_err(|_| Refusal::invalid(format!("revision: {revision:?} is no number")))?;
                actions::undo(cluster, name, Wanted::Number(number)).await?;
                return self.fresh(cluster, name, None).await;
            }
            Action::SetImage { container, image } => {
                actions::set_image(cluster, name, &container, &image).await?;
                return self.fresh(cluster, name, None).await;
            }
        };
        Ok(actions::patch(cluster, name, patch).await?)
    }

    /// The Rollout as it was given back, or read anew.
    async fn fresh(&self, cluster: &Cluster, name: &str, sent: Option<Value>) -> Result<Value, Refusal> {
        match sent {
            Some(object) => Ok(object),
            None => Ok(cluster.get(ROLLOUTS, name).await?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_says_what_it_needs() {
        for word in ["promote", "abort", "retry", "restart", "pause", "resume", "undo", "setImage"] {
            assert!(NEEDS.iter().any(|(name, needs)| *name == word && !needs.is_empty()), "{word}");
        }
    }
}
