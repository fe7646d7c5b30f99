//! One controller, one number of Rollouts, all figures.

use std::time::{Duration, Instant};

use anyhow::Result;
use kube::Api;
use kube::api::ListParams;
use tidegate_api::view::ReplicaSet;

use crate::audit::Tally;
use crate::figures::{Figures, Unit, megabytes, percentile};
use crate::fleet::{Fleet, Seen};
use crate::objects::{self, NAMESPACE};
use crate::planning::planning;
use crate::processes::shares;
use crate::restart::{restart, settle};
use crate::routes::AT_ONCE;
use crate::say;
use crate::stage::Stage;
use crate::subject::{Running, Subject, USER};
use crate::targets::{self, Targets};
use crate::{Cli, bare, latency, routes};

/// How long it may take until a controller asks for nothing more.
const CALM_WITHIN: Duration = Duration::from_secs(120);
/// Rollouts that are aborted, at most.
const ABORTS: usize = 30;

/// What was found.
pub(crate) struct Report {
    pub(crate) figures: Figures,
    /// Lines for below the table.
    pub(crate) notes: Vec<String>,
}

/// Everything that one measurement has at hand.
struct Run<'a> {
    cli: &'a Cli,
    count: usize,
    stage: Stage,
    figures: Figures,
    notes: Vec<String>,
    targets: Targets,
}

/// Measures all figures on a cluster of its own.
pub(crate) async fn measure(cli: &Cli, subject: &Subject, count: usize) -> Result<Report> {
    say(&format!("{} with {count} Rollouts: starting a control plane", subject.name()));
    let stage = Stage::start(cli.istio).await?;
    let (figures, notes) = (Figures::default(), Vec::new());
    let mut run = Run { cli, count, stage, figures, notes, targets: Targets::of(count) };
    let result = run.all(subject).await;
    let Run { stage, figures, notes, .. } = run;
    stage.testbed.stop().await;
    result.map(|()| Report { figures, notes })
}

impl Run<'_> {
    async fn all(&mut self, subject: &Subject) -> Result<()> {
        self.floor().await?;
        let mut running = subject.start(&self.stage.testbed)?;
        running.watches(&mut self.stage.audit).await?;
        self.stage.quiet(&mut running, CALM_WITHIN).await?;
        self.figures.add("memory with no Rollouts", megabytes(running.memory()?.now), Unit::Megabytes);
        let mut fleet = Fleet::watch(self.stage.client.clone());
        self.create(&mut fleet, &mut running).await?;
        self.update(&mut fleet, &mut running).await?;
        self.latencies(&mut fleet, &mut running).await?;
        if self.cli.istio {
            let after =
                routes::measure(&mut self.stage, &mut fleet, &mut running, self.cli, self.count, &mut self.figures)
                    .await?;
            self.notes.extend(after);
        }
        settle(&self.stage).await?;
        self.stage.quiet(&mut running, CALM_WITHIN).await?;
        let memory = running.memory()?;
        let after = "memory idle, after all of the above";
        self.figures.held(after, megabytes(memory.now), Unit::Megabytes, self.targets.memory);
        self.figures.add("memory at its peak", megabytes(memory.most), Unit::Megabytes);
        running.stop().await?;
        if self.cli.istio {
            let count = AT_ONCE.min(self.count);
            let took = bare::aborts(&self.stage, count).await?;
            self.figures.add(&format!("{count} aborts and routes, nobody deciding"), took, Unit::Seconds);
        }
        let running = self.restarts(subject).await?;
        self.idle(running).await
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(self.cli.patience)
    }

    /// The same pods without any controller of Rollouts: nobody can be faster here.
    async fn floor(&mut self) -> Result<()> {
        say("  plain ReplicaSets, for comparison");
        let (before, begun) = (self.stage.meter(None), Instant::now());
        let sets = (0..self.count).map(|number| objects::replica_set(number, self.cli.replicas));
        self.stage.create_all("apps", "ReplicaSet", sets).await?;
        let api: Api<ReplicaSet> = Api::namespaced(self.stage.client.clone(), NAMESPACE);
        let wanted = i32::try_from(self.cli.replicas).unwrap_or(i32::MAX);
        loop {
            let sets = api.list(&ListParams::default()).await?.items;
            let ready = sets.iter().filter(|set| set.status.available_replicas >= wanted).count();
            if ready >= self.count || begun.elapsed() > self.patience() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let took = begun.elapsed();
        self.figures.add("plain ReplicaSets created to available", took.as_secs_f64(), Unit::Seconds);
        self.note_shares("plain ReplicaSets", &self.stage.meter(None).since(&before), took);
        api.delete_collection(&Default::default(), &ListParams::default()).await?;
        while !api.list(&ListParams::default().limit(1)).await?.items.is_empty() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        self.stage.news()?;
        Ok(())
    }

    async fn create(&mut self, fleet: &mut Fleet, running: &mut Running) -> Result<()> {
        if self.cli.istio {
            say("  creating Services and VirtualServices");
            routes::furnish(&self.stage, self.count).await?;
            self.stage.quiet(running, CALM_WITHIN).await?;
        }
        say("  creating Rollouts");
        let (before, begun) = (self.stage.meter(Some(running)), Instant::now());
        let rollouts = (0..self.count).map(|number| objects::rollout(number, self.cli.replicas, self.cli.istio));
        let created = self.stage.create_all("argoproj.io", "Rollout", rollouts);
        let healthy = fleet.until("Healthy", self.count, self.patience(), running, Seen::is_healthy);
        tokio::try_join!(created, healthy)?;
        let took = begun.elapsed();
        self.figures.add("all created to Healthy", took.as_secs_f64(), Unit::Seconds);
        self.note_shares("created to Healthy", &self.stage.meter(Some(running)).since(&before), took);
        let asked = self.stage.quiet(running, CALM_WITHIN).await?;
        self.note_requests("creation", &Tally::of(&asked, USER));
        let idle = megabytes(running.memory()?.now);
        self.figures.held("memory idle, after creation", idle, Unit::Megabytes, self.targets.memory);
        Ok(())
    }

    async fn update(&mut self, fleet: &mut Fleet, running: &mut Running) -> Result<()> {
        say("  changing the image of all");
        let (before, begun) = (self.stage.meter(Some(running)), Instant::now());
        let changed = self.stage.patch_rollouts(0..self.count, false, |number| objects::image(number, "shop:2"));
        let paused = fleet.until("Paused", self.count, self.patience(), running, Seen::is_paused);
        tokio::try_join!(changed, paused)?;
        let took = begun.elapsed();
        let what = "image change on all to all Paused";
        self.figures.held(what, took.as_secs_f64(), Unit::Seconds, Some(self.targets.paused));
        self.note_shares("image change to Paused", &self.stage.meter(Some(running)).since(&before), took);
        let mut asked = self.stage.quiet(running, CALM_WITHIN).await?;
        let plans = planning(&self.stage.client).await?;
        say("  promoting all");
        let begun = Instant::now();
        let promoted = self.stage.patch_rollouts(0..self.count, true, |_| objects::promote());
        let healthy = fleet.until("Healthy", self.count, self.patience(), running, Seen::is_healthy);
        tokio::try_join!(promoted, healthy)?;
        self.figures.add("promote on all to all Healthy", begun.elapsed().as_secs_f64(), Unit::Seconds);
        // An update is over when its old pods are gone, half a minute later behind a router.
        settle(&self.stage).await?;
        asked.extend(self.stage.quiet(running, CALM_WITHIN).await?);
        let spent = self.stage.meter(Some(running)).since(&before);
        self.cost_of_an_update(&spent, &Tally::of(&asked, USER), &plans);
        Ok(())
    }

    fn cost_of_an_update(&mut self, spent: &[(&'static str, f64)], tally: &Tally, plans: &[f64]) {
        let each = |total: f64| total / self.count.max(1) as f64;
        let used = |name: &str| spent.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, used)| *used);
        let figures = &mut self.figures;
        let cpu = each(used("controller")) * 1000.0;
        figures.held("controller CPU for an update", cpu, Unit::Milliseconds, Some(targets::CPU));
        figures.add("API server CPU for an update", each(used("kube-apiserver")) * 1000.0, Unit::Milliseconds);
        let writes = each(tally.writes() as f64);
        figures.held("writes for an update, without events", writes, Unit::Each, Some(targets::WRITES));
        let status = each(tally.status_writes() as f64);
        figures.held("  of them of the status", status, Unit::Each, Some(targets::STATUS_WRITES));
        figures.add("events for an update", each(tally.events() as f64), Unit::Each);
        figures.add("single reads for an update", each(tally.reads() as f64), Unit::Each);
        figures.add("lists for an update", each(tally.lists() as f64), Unit::Each);
        // Where others use the same processors, the best is nearest to what it costs.
        figures.add("plan() while paused, best", percentile(plans, 0.0), Unit::Microseconds);
        figures.held("plan() while paused, p50", percentile(plans, 0.5), Unit::Microseconds, Some(targets::PLAN));
        self.note_requests("a complete update", tally);
    }

    async fn latencies(&mut self, fleet: &mut Fleet, running: &mut Running) -> Result<()> {
        say("  changing a Service by hand, again and again");
        let drift = latency::drift(&mut self.stage, running, self.cli.samples).await?;
        say("  aborting updates");
        let count = ABORTS.min(self.count);
        let aborts = latency::aborts(&self.stage, fleet, running, count, self.patience()).await?;
        fleet.until("Healthy", self.count, self.patience(), running, Seen::is_healthy).await?;
        let figures = &mut self.figures;
        let ms = Unit::Milliseconds;
        for (name, values) in [("drift repaired", &drift.repaired), ("abort answered", &aborts)] {
            figures.add(&format!("{name}, p50"), percentile(values, 0.5), ms);
            figures.add(&format!("{name}, p99"), percentile(values, 0.99), ms);
        }
        figures.add("change to watch event (API server), p50", percentile(&drift.told, 0.5), ms);
        figures.add("change to watch event (API server), p99", percentile(&drift.told, 0.99), ms);
        figures.add("watch event to write, p50", percentile(&drift.answered, 0.5), ms);
        let last = percentile(&drift.answered, 0.99);
        figures.held("watch event to write, p99", last, ms, Some(targets::ANSWER));
        figures.add("change to write, all in all, p50", percentile(&drift.whole, 0.5), ms);
        figures.add("change to write, all in all, p99", percentile(&drift.whole, 0.99), ms);
        Ok(())
    }

    /// Restarts several times; the last one stays.
    async fn restarts(&mut self, subject: &Subject) -> Result<Running> {
        let (mut first, mut last) = (Vec::new(), Vec::new());
        loop {
            say(&format!("  restart {} of {}", first.len() + 1, self.cli.restarts.max(1)));
            let (mut running, repaired) = restart(&self.stage, subject).await?;
            first.push(repaired.first);
            last.push(repaired.last);
            self.stage.quiet(&mut running, CALM_WITHIN).await?;
            if first.len() < self.cli.restarts {
                running.stop().await?;
                continue;
            }
            let half = percentile(&first, 0.5);
            self.figures.held("restart to first repair, p50", half, Unit::Seconds, self.targets.restart);
            self.figures.add("restart to first repair, worst", percentile(&first, 1.0), Unit::Seconds);
            self.figures.add("restart to last of five repairs, p50", percentile(&last, 0.5), Unit::Seconds);
            return Ok(running);
        }
    }

    async fn idle(&mut self, mut running: Running) -> Result<()> {
        let seconds = self.cli.idle;
        say(&format!("  leaving it alone for {seconds} s"));
        self.stage.news()?;
        let before = self.stage.meter(Some(&running));
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(seconds) {
            let left = Duration::from_secs(seconds).saturating_sub(begun.elapsed());
            tokio::time::sleep(left.min(Duration::from_secs(5))).await;
            running.check()?;
        }
        let tally = Tally::of(&self.stage.news()?, USER);
        let memory = running.memory()?;
        let figures = &mut self.figures;
        figures.held("memory idle, after a restart", megabytes(memory.now), Unit::Megabytes, self.targets.memory);
        figures.add("memory at its peak, after a restart", megabytes(memory.most), Unit::Megabytes);
        figures.held(&format!("writes in {seconds} s idle"), tally.writes() as f64, Unit::Count, Some(0.0));
        figures.held(&format!("lists in {seconds} s idle"), tally.lists() as f64, Unit::Count, Some(0.0));
        let spent = self.stage.meter(Some(&running)).since(&before);
        let used = spent.iter().find(|(name, _)| *name == "controller").map_or(0.0, |(_, used)| *used);
        figures.add("controller CPU in that time", used * 1000.0, Unit::Milliseconds);
        self.note_requests("the idle time, all together", &tally);
        running.stop().await
    }

    /// Who kept the processors busy: what is slow while they are all busy with others is not the controller's.
    fn note_shares(&mut self, what: &str, spent: &[(&'static str, f64)], took: Duration) {
        self.notes.push(shares(what, spent, took));
    }

    fn note_requests(&mut self, what: &str, tally: &Tally) {
        let share = if what.contains("together") { 1 } else { self.count as u64 };
        let rows: Vec<String> = tally
            .rows(share)
            .into_iter()
            .filter(|(_, count)| *count >= 0.05)
            .map(|(name, count)| {
                format!("{name} {}", if share == 1 { format!("{count:.0}") } else { format!("{count:.1}") })
            })
            .collect();
        let rows = if rows.is_empty() { "none".to_owned() } else { rows.join(", ") };
        self.notes.push(format!("requests of {what}: {rows}"));
    }
}
