//! Everything by the keyboard: each command that the playground names, in order, when its time has come.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::terminal::{Newcomer, PATIENCE, PROGRAM};

impl Newcomer {
    /// Types one of the commands when its time has come.
    fn plays(&self, command: &str) {
        if command.ends_with("--watch") {
            // Nobody watches for ever; the time is up before it ends by itself.
            let watched = self.run(&format!("timeout 2 {command}"));
            assert!(String::from_utf8_lossy(&watched.stdout).contains("Name:            web"), "{watched:?}");
            return;
        }
        match command {
            promote if promote.ends_with("promote web") || promote.ends_with("abort web") => self.waits("Paused"),
            change if change.contains("set image") => self.waits("Healthy"),
            undo if undo.contains("undo") => self.waits("Degraded"),
            drift if drift.contains("apply -f") => {
                self.waits("Paused");
                self.types(drift);
                self.sees_routes_repaired();
                return;
            }
            _ => {}
        }
        let said = self.types(command);
        if command.starts_with("curl") {
            assert!(said.starts_with("version "), "{command}: {said}");
        }
    }

    /// What was applied over the routes does not stay.
    pub(crate) fn sees_routes_repaired(&self) {
        let weight = || {
            self.types("kubectl argo rollouts get rollout web -o json | tr -d ' \\n' | grep -o '\"actualWeight\":\"[0-9]*\"' || true")
        };
        let found = || self.types("kubectl get virtualservice web -o yaml");
        let begun = Instant::now();
        loop {
            let (said, routes) = (weight(), found());
            let canary = said.chars().filter(char::is_ascii_digit).collect::<String>();
            // A header route is all there is before the first weight.
            if routes.contains("x-tester")
                || (!canary.is_empty() && canary != "0" && routes.contains(&format!("weight: {canary}")))
            {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{said} {routes}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn plays_all_of(scenario: &str) {
    let newcomer = Newcomer::start(scenario);
    let commands = newcomer.commands();
    assert!(commands.len() >= 8, "{commands:?}");
    for command in &commands {
        newcomer.plays(command);
    }
    newcomer.waits("Degraded");
    newcomer.ends();
}

#[test]
fn the_host_scenario_goes_as_it_says() {
    plays_all_of("host");
}

#[test]
fn the_subset_scenario_goes_as_it_says() {
    plays_all_of("subset");
}

#[test]
fn the_blue_green_scenario_goes_as_it_says() {
    plays_all_of("blue-green");
}

#[test]
fn the_header_scenario_goes_as_it_says() {
    plays_all_of("header");
}

#[test]
fn the_tcp_scenario_goes_as_it_says() {
    plays_all_of("tcp");
}

#[test]
fn the_experiment_scenario_goes_as_it_says() {
    plays_all_of("experiment");
}

#[test]
fn a_scenario_that_does_not_exist_is_refused_with_the_list() {
    let output = Command::new(PROGRAM).args(["playground", "--scenario", "magic"]).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("choose one of host, subset, blue-green, header, tcp, experiment"), "{err}");
    assert!(!output.status.success());
}
