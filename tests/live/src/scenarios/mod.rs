//! What is shown, by name.

mod canary;
mod recipes;

use anyhow::Result;
use futures::future::BoxFuture;

use crate::objects::{Carries, Level, Plan, Way};
use crate::report::Report;
use crate::shop::Shop;
use crate::stage::Stage;

type Play = for<'a, 'b> fn(&'b mut Shop<'a>) -> BoxFuture<'b, Result<()>>;

/// One scenario.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    plan: fn() -> Plan,
    play: Play,
}

/// The scenario in which requests must fail.
const ALARM: &str = "alarm";

/// All of them, in the order they are played.
pub(crate) const ALL: [Scenario; 26] = [
    Scenario { name: "canary-subset", plan: || canary::plan(Level::Subset), play: canary::complete },
    Scenario { name: "canary-host", plan: || canary::plan(Level::Host), play: canary::complete },
    Scenario { name: "abort-subset", plan: || canary::plan(Level::Subset), play: canary::aborted },
    Scenario { name: "abort-host", plan: || canary::plan(Level::Host), play: canary::aborted },
    Scenario { name: "supersede-subset", plan: || canary::plan(Level::Subset), play: canary::superseded },
    Scenario { name: "supersede-host", plan: || canary::plan(Level::Host), play: canary::superseded },
    Scenario { name: "hasty-subset", plan: || canary::hasty_plan(Level::Subset), play: canary::hasty },
    Scenario { name: "hasty-host", plan: || canary::hasty_plan(Level::Host), play: canary::hasty },
    Scenario { name: "per-mille", plan: canary::per_mille_plan, play: canary::per_mille },
    Scenario { name: "header-and-mirror", plan: recipes::routes_plan, play: recipes::routes },
    Scenario { name: "sticky", plan: recipes::sticky_plan, play: recipes::sticky },
    Scenario { name: "geography", plan: || recipes::geography_plan(Level::Host), play: recipes::geography },
    Scenario { name: "tcp-subset", plan: || canary::plan_of(Level::Subset, Carries::Tcp), play: canary::complete },
    Scenario { name: "tcp-host", plan: || canary::plan_of(Level::Host, Carries::Tcp), play: canary::complete },
    Scenario { name: "tls-subset", plan: || canary::plan_of(Level::Subset, Carries::Tls), play: canary::complete },
    Scenario { name: "tls-host", plan: || canary::plan_of(Level::Host, Carries::Tls), play: canary::complete },
    Scenario { name: "sidecar-subset", plan: || canary::plan_by(Way::Sidecar, Level::Subset), play: canary::complete },
    Scenario { name: "sidecar-host", plan: || canary::plan_by(Way::Sidecar, Level::Host), play: canary::complete },
    Scenario { name: "gateway-api-canary", plan: || canary::plan(Level::Route), play: canary::complete },
    Scenario { name: "gateway-api-abort", plan: || canary::plan(Level::Route), play: canary::aborted },
    Scenario { name: "gateway-api-supersede", plan: || canary::plan(Level::Route), play: canary::superseded },
    Scenario { name: "gateway-api-header", plan: || recipes::geography_plan(Level::Route), play: recipes::geography },
    Scenario {
        name: "gateway-api-sidecar",
        plan: || canary::plan_by(Way::Sidecar, Level::Route),
        play: canary::complete,
    },
    Scenario { name: "waypoint-canary", plan: || canary::plan_by(Way::Waypoint, Level::Route), play: canary::complete },
    Scenario { name: "waypoint-abort", plan: || canary::plan_by(Way::Waypoint, Level::Route), play: canary::aborted },
    Scenario { name: ALARM, plan: || canary::plan(Level::Subset), play: canary::broken },
];

impl Scenario {
    /// Plays it to its end, or to where it cannot go on.
    pub(crate) async fn play(&self, stage: &Stage) -> Report {
        let name = self.name.to_owned();
        let mut shop = match Shop::open(stage, (self.plan)()).await {
            Ok(shop) => shop,
            Err(problem) => return Report { name, problem: Some(format!("{problem:#}")), ..Report::default() },
        };
        let played = (self.play)(&mut shop).await;
        let problem = played.err().map(|problem| format!("{problem:#}"));
        Report { is_alarm: self.name == ALARM, name, problem, ..shop.close().await }
    }
}

#[cfg(test)]
mod tests {
    use tidegate_mesh::{Config, Objects};

    use super::*;
    use crate::objects::{self, Place};

    #[test]
    fn the_simulated_mesh_reads_the_objects_of_every_scenario() {
        let place = Place { namespace: "shop".to_owned(), port: 8000, pod_port: 8080 };
        for scenario in ALL.iter().filter(|scenario| (scenario.plan)().level != Level::Route) {
            let objects = objects::all(&(scenario.plan)(), &place);
            let config = Config::read(&Objects::sorted(&objects));
            assert_eq!(config.problems().count(), 0, "{}", scenario.name);
            assert_eq!(config.virtual_services().len(), 1, "{}", scenario.name);
        }
    }

    #[tokio::test]
    async fn an_unknown_scenario_is_named_before_anything_starts() {
        let problem = crate::play(&["nothing".to_owned()]).await.unwrap_err().to_string();
        assert!(problem.starts_with("there is no scenario nothing; there are canary-subset, "), "{problem}");
    }
}
