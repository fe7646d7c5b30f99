//! The objects of one place in the fleet, and what people do with them.

use anyhow::Result;
use kube::Client;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Map, Value, json};
use tidegate_sim::Random;

use crate::metrics::ADDRESS;
use crate::world::api;

/// What somebody does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// A new version.
    Update,
    /// A new version that is given up.
    UpdateAndAbort,
    /// More or fewer pods.
    Scale,
    /// The Rollout goes and another one comes, by another name.
    Replace,
}

impl Act {
    pub(super) fn draw(random: &mut Random) -> Self {
        match random.below(10) {
            0 => Self::Scale,
            1 => Self::UpdateAndAbort,
            2 => Self::Replace,
            _ => Self::Update,
        }
    }
}

/// What a Rollout uses; places take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Routed,
    Switched,
    Analysed,
    Compared,
}

/// One of the Rollouts there are at any time.
pub(super) struct Place {
    number: u64,
    /// Rollouts that were here before.
    former: u64,
    version: u64,
    kind: Kind,
}

/// What the metric service says.
pub(super) fn answers() -> Map<String, Value> {
    Map::from_iter([("good".to_owned(), json!({"ok": 1}))])
}

/// What all places share.
pub(super) async fn install(client: &Client) -> Result<()> {
    let provider = json!({"web": {"url": format!("{ADDRESS}/good"), "jsonPath": "{$.ok}"}});
    let metric =
        json!({"name": "good", "count": 2, "interval": "10s", "successCondition": "result == 1", "provider": provider});
    let template = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": "good"},
        "spec": {"metrics": [metric]},
    });
    create(client, "AnalysisTemplate", template).await
}

impl Place {
    pub(super) fn new(number: u64) -> Self {
        let kinds = [Kind::Plain, Kind::Routed, Kind::Switched, Kind::Analysed, Kind::Compared];
        let kind = usize::try_from(number).ok().and_then(|number| kinds.get(number % kinds.len()).copied());
        Self { number, former: 0, version: 0, kind: kind.unwrap_or(Kind::Plain) }
    }

    fn name(&self) -> String {
        format!("app-{}-{}", self.number, self.former)
    }

    /// Services and routes first, then the Rollout.
    pub(super) async fn create(&mut self, client: &Client) -> Result<()> {
        let name = self.name();
        for role in ["stable", "canary"] {
            let spec = json!({"selector": {"app": name}, "ports": [{"port": 80}]});
            let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": format!("{name}-{role}")}, "spec": spec});
            create(client, "Service", service).await?;
        }
        let to = |role: &str, weight: i64| json!({"destination": {"host": format!("{name}-{role}")}, "weight": weight});
        let spec = json!({"hosts": [name], "http": [{"route": [to("stable", 100), to("canary", 0)]}]});
        let routes = json!({
            "apiVersion": "networking.istio.io/v1alpha3", "kind": "VirtualService", "metadata": {"name": name}, "spec": spec,
        });
        if self.kind == Kind::Routed {
            create(client, "VirtualService", routes).await?;
        }
        create(client, "Rollout", self.rollout()).await
    }

    pub(super) async fn perform(&mut self, act: Act, client: &Client) -> Result<()> {
        match act {
            Act::Update => self.update(client).await,
            Act::Scale => {
                let replicas = json!({"spec": {"replicas": 1 + (self.version + self.number) % 2}});
                patch(client, &self.name(), "", replicas).await
            }
            Act::UpdateAndAbort => {
                self.update(client).await?;
                patch(client, &self.name(), "status", json!({"status": {"abort": true}})).await
            }
            Act::Replace => {
                let (name, delete) = (self.name(), DeleteParams::default());
                api(client, "default", "Rollout").delete(&name, &delete).await?;
                for role in ["stable", "canary"] {
                    api(client, "default", "Service").delete(&format!("{name}-{role}"), &delete).await?;
                }
                if self.kind == Kind::Routed {
                    api(client, "default", "VirtualService").delete(&name, &delete).await?;
                }
                self.former += 1;
                self.create(client).await
            }
        }
    }

    async fn update(&mut self, client: &Client) -> Result<()> {
        self.version += 1;
        let containers = json!([{"name": "main", "image": self.image()}]);
        patch(client, &self.name(), "", json!({"spec": {"template": {"spec": {"containers": containers}}}})).await
    }

    fn image(&self) -> String {
        format!("image:{}", self.version)
    }

    fn rollout(&self) -> Value {
        let name = self.name();
        let template = json!({
            "metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": self.image()}]},
        });
        // Histories are short, so that they are full within the first hour.
        json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": name},
            "spec": {
                "replicas": 1, "revisionHistoryLimit": 1, "selector": {"matchLabels": {"app": name}}, "template": template,
                "analysis": {"successfulRunHistoryLimit": 1, "unsuccessfulRunHistoryLimit": 1}, "strategy": self.strategy(),
            },
        })
    }

    fn strategy(&self) -> Value {
        let service = |role: &str| format!("{}-{role}", self.name());
        let pause = json!({"pause": {"duration": "20s"}});
        let good = json!([{"templateName": "good"}]);
        let compared = json!({"templates": [{"name": "after", "specRef": "canary"}], "duration": "20s"});
        match self.kind {
            Kind::Plain => json!({"canary": {"steps": [{"setWeight": 50}, pause]}}),
            Kind::Routed => json!({"canary": {
                "stableService": service("stable"), "canaryService": service("canary"), "steps": [{"setWeight": 20}, pause],
                "trafficRouting": {"istio": {"virtualService": {"name": self.name()}}},
            }}),
            Kind::Switched => json!({"blueGreen": {
                "activeService": service("stable"), "previewService": service("canary"), "autoPromotionSeconds": 20,
            }}),
            Kind::Analysed => json!({"canary": {
                "analysis": {"templates": good}, "steps": [{"setWeight": 50}, pause, {"analysis": {"templates": good}}],
            }}),
            Kind::Compared => json!({"canary": {"steps": [{"setWeight": 50}, {"experiment": compared}]}}),
        }
    }
}

async fn create(client: &Client, kind: &str, object: Value) -> Result<()> {
    let object: DynamicObject = serde_json::from_value(object)?;
    api(client, "default", kind).create(&PostParams::default(), &object).await?;
    Ok(())
}

async fn patch(client: &Client, name: &str, subresource: &str, change: Value) -> Result<()> {
    let (rollouts, params, change) = (api(client, "default", "Rollout"), PatchParams::default(), Patch::Merge(change));
    match subresource {
        "" => rollouts.patch(name, &params, &change).await?,
        _ => rollouts.patch_status(name, &params, &change).await?,
    };
    Ok(())
}
