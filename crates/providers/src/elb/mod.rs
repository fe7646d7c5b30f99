//! Elastic Load Balancing: what a load balancer of AWS does at this moment. Not a metric; it is asked by the same client, under the
//! same rules for hosts, and signed with the same keys.
//!
//! `query.rs` is one question with its pages and patience, `read.rs` what answers mean.

mod query;
mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tidegate_clock::Clock;

use self::query::Query;
use crate::call::Surroundings;
use crate::client::Transport;
use crate::xml::Element;

/// Load balancers on a page, and ARNs in a question for tags: as many as AWS takes.
const PAGE: &str = "300";
const MOST_ARNS: usize = 20;
/// How long everything about one load balancer may take.
const LONGEST: Duration = Duration::from_secs(60);

/// Why AWS could not be asked, for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ElbError(String);

/// A load balancer or a target group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its ARN.
    pub arn: String,
}

/// A target group with its tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Which.
    pub named: Named,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
}

/// What AWS says of a host name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// The load balancer with this host name.
    pub load_balancer: Option<Named>,
    /// Its target groups.
    pub groups: Vec<Group>,
    /// Of every forward action of every rule of every listener: target groups by ARN with their weights.
    pub forwards: Vec<BTreeMap<String, i64>>,
}

/// Asks about load balancers. Clones share what carries the questions.
#[derive(Clone)]
pub struct LoadBalancers {
    transport: Arc<dyn Transport>,
    surroundings: Surroundings,
    clock: Clock,
}

impl LoadBalancers {
    /// Asks over this transport, with keys that these surroundings hold.
    pub fn new(transport: Arc<dyn Transport>, surroundings: Surroundings, clock: Clock) -> Self {
        Self { transport, surroundings, clock }
    }

    /// The load balancer with a host name, its target groups and the weights in force.
    pub async fn describe(&self, host: &str) -> Result<Described, ElbError> {
        let region = read::region_of_host(host);
        self.bounded(async {
            let all = self.ask(region, "DescribeLoadBalancers", &[("PageSize", PAGE)], "LoadBalancers").await?;
            let Some(balancer) = all.iter().find(|one| read::text(one, "DNSName").eq_ignore_ascii_case(host)) else {
                return Ok(Described::default());
            };
            let found = read::named(balancer, "LoadBalancerName", "LoadBalancerArn");
            let of = [("LoadBalancerArn", found.arn.as_str())];
            let groups = self.ask(region, "DescribeTargetGroups", &of, "TargetGroups").await?;
            let groups: Vec<Named> =
                groups.iter().map(|group| read::named(group, "TargetGroupName", "TargetGroupArn")).collect();
            let groups = self.tagged(region, groups).await?;
            let mut forwards = Vec::new();
            for listener in self.ask(region, "DescribeListeners", &of, "Listeners").await? {
                let arn = read::text(&listener, "ListenerArn");
                let rules = self.ask(region, "DescribeRules", &[("ListenerArn", &arn)], "Rules").await?;
                forwards.extend(rules.iter().flat_map(read::forwards));
            }
            Ok(Described { load_balancer: Some(found), groups, forwards })
        })
        .await
    }

    /// Addresses and ports of the targets of a group, whatever their health.
    pub async fn targets(&self, arn: &str) -> Result<BTreeSet<(String, i64)>, ElbError> {
        let region = read::region_of_arn(arn);
        self.bounded(async {
            let of = [("TargetGroupArn", arn)];
            let health = self.ask(region, "DescribeTargetHealth", &of, "TargetHealthDescriptions").await?;
            Ok(health.iter().filter_map(read::target).collect())
        })
        .await
    }

    async fn tagged(&self, region: &str, groups: Vec<Named>) -> Result<Vec<Group>, ElbError> {
        let mut tags: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for some in groups.chunks(MOST_ARNS) {
            let names: Vec<String> = (1..=some.len()).map(|number| format!("ResourceArns.member.{number}")).collect();
            let asked: Vec<(&str, &str)> =
                names.iter().zip(some).map(|(name, group)| (name.as_str(), group.arn.as_str())).collect();
            let described = self.ask(region, "DescribeTags", &asked, "TagDescriptions").await?;
            tags.extend(described.iter().map(|one| (read::text(one, "ResourceArn"), read::tags(one))));
        }
        let with_tags = |named: Named| Group { tags: tags.remove(&named.arn).unwrap_or_default(), named };
        Ok(groups.into_iter().map(with_tags).collect())
    }

    async fn ask(
        &self,
        region: &str,
        action: &'static str,
        fields: &[(&str, &str)],
        list: &str,
    ) -> Result<Vec<Element>, ElbError> {
        let own = self.surroundings.variable("AWS_REGION").or(self.surroundings.variable("AWS_DEFAULT_REGION"));
        let region = if region.is_empty() { own.unwrap_or_default() } else { region };
        if region.is_empty() {
            return Err(ElbError("no AWS region: set AWS_REGION for the controller".to_owned()));
        }
        let (client, surroundings, clock) = (&*self.transport, &self.surroundings, self.clock);
        Query { client, surroundings, clock, region, action, fields, list }.ask().await.map_err(ElbError)
    }

    async fn bounded<T>(&self, asked: impl Future<Output = Result<T, ElbError>>) -> Result<T, ElbError> {
        match tokio::time::timeout(LONGEST, asked).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ElbError(format!("no complete answer of AWS within {} seconds", LONGEST.as_secs()))),
        }
    }
}
