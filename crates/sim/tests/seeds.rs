//! A hundred seeds in CI, and clients that must fail them.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use clap::Parser;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Request, Response};
use kube::Client;
use tidegate_sim::experiment::{Experiment, Report, Seat, Selection, Subject, Weather};
use tidegate_sim::faults::{Fault, Menu};
use tidegate_sim::{Manager, scenarios, world};
use tower_service::Service;

fn reports(experiment: &Experiment, seeds: std::ops::Range<u64>) -> Vec<Report> {
    let mut all = Vec::new();
    experiment.run_all(seeds, false, |report| all.push(report)).unwrap();
    all
}

#[test]
fn a_hundred_seeds_pass() {
    let reports = reports(&scenarios::experiment(), 0..100);
    let failed: Vec<String> =
        reports.iter().filter(|report| report.failure.is_some()).map(Report::explanation).collect();
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n"));
    assert_eq!(reports.len(), 100);
    let writes: u64 = reports.iter().map(|report| report.counts.0).sum();
    assert!(writes > 20_000, "{writes} writes: too little happens for this to mean anything");
    // Every entry of the menu is on the plate of some seed.
    for fault in Fault::ALL {
        assert!((0..100).any(|seed| Menu::drawn(seed).rate(fault) > 0), "{fault:?}");
    }
}

#[test]
fn one_seed_gives_one_history_to_the_byte_faults_and_all() {
    let run = |seed| {
        let menu = Menu::full();
        let experiment = Experiment { weather: Weather::Fixed(menu), ..scenarios::experiment() };
        experiment.run(seed, true).unwrap()
    };
    let (first, second) = (run(3), run(3));
    assert!(first.story.iter().any(|line| line.contains("crash")), "{:#?}", first.story);
    assert_eq!(first.log.lines().zip(second.log.lines()).find(|(a, b)| a != b), None);
    assert!(first.log == second.log && first.log.lines().count() > 1000);
    assert!(run(4).log != first.log);
}

/// How a client is broken.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    /// It takes deletions for done without asking for them.
    NeverDeletes,
    /// A watch that has ended is not opened again.
    NeverWatchesAgain,
    /// It does not come back from a crash.
    StaysDead,
}

/// A service that does to requests what the defect says.
#[derive(Clone)]
struct Broken {
    client: Client,
    defect: Defect,
    watched: Arc<Mutex<BTreeSet<String>>>,
}

impl Service<Request<kube::client::Body>> for Broken {
    type Response = Response<kube::client::Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let (client, defect) = (self.client.clone(), self.defect);
        let watches = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let again = watches && !self.watched.lock().unwrap().insert(request.uri().path().to_owned());
        async move {
            if defect == Defect::NeverDeletes && request.method() == Method::DELETE {
                let done = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}"#;
                return Ok(Response::new(kube::client::Body::from(done.as_bytes().to_vec())));
            }
            if defect == Defect::NeverWatchesAgain && again {
                return std::future::pending().await;
            }
            Ok(client.send(request).await.unwrap())
        }
        .boxed()
    }
}

struct BrokenManager {
    defect: Defect,
    starts: AtomicU32,
}

impl Subject for BrokenManager {
    fn name(&self) -> &'static str {
        world::MANAGER
    }

    fn start(&self, seat: Seat) -> BoxFuture<'static, ()> {
        let start = self.starts.fetch_add(1, Ordering::Relaxed);
        if self.defect == Defect::StaysDead && start > 0 {
            return std::future::pending().boxed();
        }
        let broken = Broken { client: seat.client, defect: self.defect, watched: Arc::default() };
        Manager::new(Client::new(broken, "default"), seat.clock).run(seat.stop).boxed()
    }

    fn needs_manager(&self) -> bool {
        false
    }
}

/// How many of a few seeds fail, and how.
fn failures(defect: Defect, menu: Menu) -> Vec<String> {
    let run = |seed| {
        let subject = Arc::new(BrokenManager { defect, starts: AtomicU32::new(0) });
        let experiment = Experiment { subject, weather: Weather::Fixed(menu.clone()), ..scenarios::experiment() };
        experiment.run(seed, false).unwrap().failure
    };
    (0..4).filter_map(run).collect()
}

#[test]
fn a_client_that_never_deletes_fails() {
    let failures = failures(Defect::NeverDeletes, Menu::calm());
    assert!(!failures.is_empty());
}

#[test]
fn a_client_that_does_not_come_back_from_a_crash_fails() {
    let failures = failures(Defect::StaysDead, Menu::calm().with(Fault::Crash, 20));
    assert_eq!(failures.len(), 4, "{failures:#?}");
}

#[test]
fn a_client_that_does_not_open_its_watches_again_fails() {
    let failures = failures(Defect::NeverWatchesAgain, Menu::calm().with(Fault::BrokenWatch, 30));
    assert_eq!(failures.len(), 4, "{failures:#?}");
}

#[derive(clap::Parser)]
struct Flags {
    #[command(flatten)]
    selection: Selection,
}

#[test]
fn a_failing_seed_is_shrunk_and_the_command_it_is_told_with_shows_the_same_failure() {
    let broken = || Experiment {
        subject: Arc::new(BrokenManager { defect: Defect::NeverDeletes, starts: AtomicU32::new(0) }),
        ..scenarios::experiment()
    };
    let whole = broken().first_failure(0..20).unwrap().unwrap();
    let mut told = Vec::new();

    let short = broken().shrink(whole.clone(), &mut |line| told.push(line.to_owned()));

    assert_eq!(short.rule, whole.rule);
    assert!(short.menu.faults().len() < whole.menu.faults().len(), "{} of {}", short.menu, whole.menu);
    let acts = short.acts.clone().unwrap();
    assert!(acts.len() < whole.last_act, "{acts:?} of {}", whole.last_act);
    assert!(told.last().unwrap().contains("became"), "{told:#?}");
    let words = short.explanation();
    let command = words.lines().find_map(|line| line.trim().strip_prefix("replay: ")).unwrap();
    let flags: Vec<&str> =
        command.split(' ').filter(|word| word.starts_with("--without=") || word.starts_with("--acts=")).collect();
    assert_eq!(flags.len(), 2, "{command}");
    let selection = Flags::parse_from(["seeds"].iter().chain(&flags)).selection;
    let again = selection.of(broken()).run(short.seed, false).unwrap();
    assert_eq!((again.failure, again.story), (short.failure, short.story));
}
