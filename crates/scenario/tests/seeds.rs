//! The controller under seeded faults.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tidegate_apiserver::ApiServer;
use tidegate_scenario::safety;
use tidegate_sim::experiment::Report;
use tidegate_sim::faults::Menu;
use tidegate_sim::journal::{Change, Mirror};
use tidegate_sim::{Experiment, Invariant, Random, Scenario, Stage, Weather};

fn failures(experiment: &Experiment, seeds: std::ops::Range<u64>) -> Vec<String> {
    let mut failed = Vec::new();
    let mut count = 0_u64;
    let wanted = seeds.end - seeds.start;
    experiment
        .run_all(seeds, false, |report: Report| {
            count += 1;
            if report.failure.is_some() {
                failed.push(report.explanation());
            }
        })
        .unwrap();
    assert_eq!(count, wanted);
    failed
}

#[test]
fn canaries_and_blue_green_rollouts_end_where_a_quiet_run_ends_whatever_goes_wrong() {
    let failed = failures(&safety::experiment(), 0..4400);
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n"));
}

/// Seeds beyond those above that failed once: see docs/safety.md.
fn passes_now(seeds: &[u64]) {
    for seed in seeds {
        let failed = failures(&safety::experiment(), *seed..*seed + 1);
        assert!(failed.is_empty(), "{}", failed.join("\n"));
    }
}

#[test]
fn an_abort_to_a_stable_version_without_pods_leaves_the_pods_that_serve() {
    passes_now(&[37594, 40900, 129_687]);
}

#[test]
fn a_look_that_waited_for_pods_sees_everything_else_anew() {
    passes_now(&[39349, 41030]);
}

#[test]
fn rollouts_behind_routes_never_send_requests_to_nothing_whatever_goes_wrong() {
    let failed = failures(&safety::experiment_with_routes(), 0..600);
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n"));
}

/// Seeds with routes beyond those above that failed once.
fn passes_now_with_routes(seeds: &[u64]) {
    for seed in seeds {
        let failed = failures(&safety::experiment_with_routes(), *seed..*seed + 1);
        assert!(failed.is_empty(), "{}", failed.join("\n"));
    }
}

#[test]
fn stable_pods_stay_while_routes_that_somebody_changed_lead_to_them() {
    passes_now_with_routes(&[310_323]);
}

#[test]
fn an_abort_of_an_invalid_rollout_and_an_undo_that_are_seen_together_leave_the_stable_version_its_pods() {
    passes_now_with_routes(&[310_222]);
}

#[test]
fn a_version_that_comes_with_another_size_begins_although_a_set_cannot_grow_yet() {
    passes_now_with_routes(&[400_785, 406_691]);
}

#[test]
fn rules_of_a_rollout_that_is_known_to_be_gone_are_not_written_again() {
    passes_now_with_routes(&[403_337, 403_889]);
}

#[test]
fn rollouts_behind_other_routers_never_send_requests_to_nothing_whatever_goes_wrong() {
    // Among them 334: a VirtualNode of App Mesh was given to a new canary before it had pods.
    let failed = failures(&safety::experiment_with_routers(), 0..400);
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n"));
}

/// The same with routers.
fn passes_now_with_routers(seed: u64) {
    let failed = failures(&safety::experiment_with_routers(), seed..seed + 1);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_stable_node_of_app_mesh_stands_for_the_new_pods_before_it_gets_their_requests() {
    passes_now_with_routers(2549);
}

#[test]
fn a_version_that_was_stable_a_moment_ago_keeps_its_pods_when_it_is_the_new_one_again() {
    passes_now_with_routers(50183);
}

#[test]
fn what_went_with_its_rollout_is_not_made_again_before_that_is_known() {
    passes_now_with_routers(64402);
    passes_now_with_routers(71311);
}

#[test]
fn a_look_that_waited_for_objects_of_a_router_sees_everything_else_anew() {
    passes_now_with_routers(72930);
}

#[test]
fn a_new_version_whose_service_still_has_weight_keeps_its_pods_until_stable_can_carry_it() {
    passes_now_with_routers(60041);
}

#[test]
fn an_ingress_whose_weights_somebody_took_away_costs_the_stable_version_no_pods() {
    passes_now_with_routers(119_063);
}

#[test]
fn an_abort_gives_no_weight_to_a_canary_that_never_had_any() {
    passes_now_with_routers(50343);
}

#[test]
fn rollouts_that_ask_for_analysis_pass_no_step_without_a_verdict_whatever_services_say() {
    let failed = failures(&safety::experiment_with_analyses(), 0..200);
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn every_experiment_ends_and_leaves_nothing_behind_whatever_goes_wrong() {
    let failed = failures(&safety::experiment_with_experiments(), 0..100);
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn a_quiet_run_ends_there_too_and_one_seed_gives_one_history() {
    let quiet = Experiment { weather: Weather::Fixed(Menu::calm()), ..safety::experiment() };
    let failed = failures(&quiet, 1000..1002);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let (one, two) = (safety::experiment().run(7, true).unwrap(), safety::experiment().run(7, true).unwrap());
    assert_eq!(one.log.lines().zip(two.log.lines()).find(|(a, b)| a != b), None);
    assert!(one.log == two.log && one.log.lines().count() > 500);
}

/// The usual scenario with a rule that cannot hold: no Rollout may see a third version.
struct TwoVersions(Arc<dyn Scenario>);

struct NoThirdVersion;

impl Invariant for NoThirdVersion {
    fn name(&self) -> &'static str {
        "two versions are enough"
    }

    fn on_change(&mut self, change: &Change, _: &Mirror) -> Result<(), String> {
        let image = &change.new["spec"]["template"]["spec"]["containers"][0]["image"];
        if image == "shop:3" { Err("here is a third".to_owned()) } else { Ok(()) }
    }
}

impl Scenario for TwoVersions {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn length(&self, seed: u64) -> Duration {
        self.0.length(seed)
    }

    fn beginning(&self) -> Option<ApiServer> {
        self.0.beginning()
    }

    fn play<'a>(&'a self, stage: &'a Stage<'a>, random: Random) -> BoxFuture<'a, Result<(), String>> {
        self.0.play(stage, random)
    }

    fn conclude<'a>(&'a self, stage: &'a Stage<'a>) -> BoxFuture<'a, Result<(), String>> {
        self.0.conclude(stage)
    }

    fn invariants(&self, _: u64, _: &Menu) -> Vec<Box<dyn Invariant>> {
        vec![Box::new(NoThirdVersion)]
    }
}

#[test]
fn a_failing_seed_is_shrunk_to_what_it_takes() {
    let usual = safety::experiment();
    let strict = Experiment { scenario: Arc::new(TwoVersions(Arc::clone(&usual.scenario))), ..usual };
    let whole = strict.first_failure(0..20).unwrap().unwrap();

    let short = strict.shrink(whole.clone(), &mut |_| {});

    assert!(short.menu.faults().is_empty(), "{}", short.menu);
    let acts = short.acts.clone().unwrap();
    assert!(acts.len() <= 2 && acts.len() < whole.last_act, "two new versions are all it takes: {acts:?}");
    let again = Experiment { without: short.without.clone(), acts: Some(acts), ..strict };
    assert_eq!(again.run(short.seed, false).unwrap().failure, short.failure);
}
