//! Two candidates and one Lease, on the in-process API in virtual time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use kube::Client;
use tidegate_apiserver::{ApiServer, Options};
use tidegate_clock::Clock;
use tidegate_runtime::lease::{LeaseOptions, Timing, lead};

fn options(identity: &str) -> LeaseOptions {
    LeaseOptions {
        namespace: "default".to_owned(),
        name: "lock".to_owned(),
        identity: identity.to_owned(),
        timing: Timing::default(),
        field_manager: "test".to_owned(),
    }
}

async fn seconds(count: u64) {
    tokio::time::sleep(Duration::from_secs(count)).await;
}

#[tokio::test(start_paused = true)]
async fn one_leads_and_the_other_follows_at_once_when_the_lease_is_given_up() {
    let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
    let client = Client::new(ApiServer::new(Options::new(clock)), "default");
    let wall = move || clock.now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let stopped = async move {
        let _ = stopped.await;
    };
    let (first, campaign) = lead(client.clone(), options("first"), wall, stopped);
    let first_task = tokio::spawn(campaign);
    seconds(1).await;
    let (mut second, campaign) = lead(client, options("second"), wall, std::future::pending());
    let second_task = tokio::spawn(campaign);
    for _ in 0..60 {
        seconds(1).await;
        assert!(first.is_held() && !second.is_held());
    }

    stop.send(()).unwrap();
    first_task.await.unwrap();
    assert!(!first.is_held());
    let given_up = tokio::time::Instant::now();
    second.wait().await;
    assert!(given_up.elapsed() <= Timing::default().retry_period, "{:?}", given_up.elapsed());
    second_task.abort();
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_dies_is_followed_after_the_duration_and_never_earlier() {
    let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
    let client = Client::new(ApiServer::new(Options::new(clock)), "default");
    let wall = move || clock.now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    let (first, campaign) = lead(client.clone(), options("first"), wall, std::future::pending());
    let first_task = tokio::spawn(campaign);
    seconds(5).await;
    let (mut second, campaign) = lead(client, options("second"), wall, std::future::pending());
    let second_task = tokio::spawn(campaign);
    seconds(5).await;

    first_task.abort();
    let died = tokio::time::Instant::now();
    second.wait().await;

    assert!(!first.is_held(), "nobody may believe to lead when the next one does");
    assert!((13..=17).contains(&died.elapsed().as_secs()), "{:?}", died.elapsed());
    second_task.abort();
}

/// Lets one update of the Lease meet somebody else's, once told to.
#[derive(Default)]
struct ConflictOnce(std::sync::atomic::AtomicBool);

impl tidegate_apiserver::Faults for ConflictOnce {
    fn before(&self, call: &tidegate_apiserver::Call<'_>) -> tidegate_apiserver::Before {
        let is_hit = call.verb == tidegate_apiserver::Verb::Update && self.0.swap(false, Ordering::Relaxed);
        if is_hit {
            let error = tidegate_apiserver::StatusError::conflict("coordination.k8s.io", "leases", "lock", "modified");
            return tidegate_apiserver::Before::Fail(error);
        }
        tidegate_apiserver::Before::Pass
    }
}

#[tokio::test(start_paused = true)]
async fn a_conflict_on_a_renewal_does_not_end_a_leadership_that_is_still_sure() {
    let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
    let faults = std::sync::Arc::new(ConflictOnce::default());
    let mut server = Options::new(clock);
    server.faults = std::sync::Arc::<ConflictOnce>::clone(&faults);
    let client = Client::new(ApiServer::new(server), "default");
    let wall = move || clock.now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    let (leader, campaign) = lead(client, options("first"), wall, std::future::pending());
    let task = tokio::spawn(campaign);
    seconds(5).await;
    faults.0.store(true, Ordering::Relaxed);
    for _ in 0..30 {
        seconds(1).await;
        assert!(leader.is_held());
    }
    assert!(!faults.0.load(Ordering::Relaxed), "the conflict came");
    task.abort();
}
