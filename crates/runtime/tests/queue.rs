//! The work queue, in virtual time.

use std::time::Duration;

use tidegate_runtime::{Backoff, Queue};
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn a_key_is_given_out_once_and_again_after_it_was_added_while_running() {
    let queue = Queue::new(Backoff::default());
    queue.add("a");
    queue.add("b");
    queue.add("a");

    assert_eq!(queue.next().await, Some("a"));
    queue.add("a");
    assert_eq!(queue.next().await, Some("b"));
    assert!(queue.is_empty(), "a is being worked on");

    queue.done(&"a");
    assert_eq!(queue.next().await, Some("a"));
}

#[tokio::test(start_paused = true)]
async fn a_key_waits_for_its_time_and_an_earlier_time_wins() {
    let queue = Queue::new(Backoff::default());
    let start = Instant::now();
    queue.add_after("late", Duration::from_secs(60));
    queue.add_after("late", Duration::from_secs(5));
    queue.add_after("late", Duration::from_secs(30));

    assert_eq!(queue.next().await, Some("late"));
    assert_eq!(start.elapsed().as_secs(), 5);
    queue.done(&"late");
    queue.close();
    assert_eq!(queue.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn failures_slow_a_key_down_to_ten_seconds_and_success_forgets_them() {
    let queue = Queue::new(Backoff::default());
    let delays: Vec<u128> = (0..20).map(|_| queue.retry("a").as_millis()).collect();
    assert_eq!(delays[..5], [1, 2, 4, 8, 16]);
    assert_eq!(delays[19], 10_000);
    queue.forget(&"a");
    assert_eq!(queue.retry("a").as_millis(), 1);
}

#[tokio::test(start_paused = true)]
async fn many_workers_share_the_work_and_all_end_when_it_is_closed() {
    let queue = Queue::new(Backoff::default());
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let mut done = 0;
                while let Some(key) = queue.next().await {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    queue.done(&key);
                    done += 1;
                }
                done
            })
        })
        .collect();
    for key in 0..100 {
        queue.add(key);
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    queue.close();
    let mut total = 0;
    for worker in workers {
        total += worker.await.unwrap();
    }
    assert_eq!(total, 100);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_never_comes_to_rest_gets_slower_until_something_outside_changes() {
    let queue = Queue::new(Backoff::default());
    let delays: Vec<u128> = (0..40).map(|_| queue.again("a").as_millis()).collect();
    assert_eq!(delays[0], 0);
    assert_eq!(delays[39], 10_000);

    queue.add("a");
    assert_eq!(queue.again("a").as_millis(), 0);
}

#[tokio::test(start_paused = true)]
async fn news_of_others_come_before_what_only_goes_on_but_not_for_ever() {
    let queue = Queue::new(Backoff::default());
    queue.add(100);
    assert_eq!(queue.next().await, Some(100));
    queue.again(100);
    queue.done(&100);
    for key in 0..20 {
        queue.add(key);
    }

    let mut order = Vec::new();
    for _ in 0..21 {
        let key = queue.next().await.unwrap();
        queue.done(&key);
        order.push(key);
    }
    assert_eq!(order[0], 0, "news first");
    let place = order.iter().position(|key| *key == 100).unwrap();
    assert!(place <= 8, "it has its turn: {order:?}");
    assert!(queue.is_empty());
}

#[tokio::test(start_paused = true)]
async fn news_of_a_key_that_goes_on_are_news() {
    let queue = Queue::new(Backoff::default());
    queue.add("busy");
    assert_eq!(queue.next().await, Some("busy"));
    queue.again("busy");
    queue.done(&"busy");
    queue.add("other");
    assert_eq!(queue.next().await, Some("other"), "ripe, and only going on");
    queue.add("busy");
    queue.add("last");
    assert_eq!(queue.next().await, Some("busy"));
    assert_eq!(queue.next().await, Some("last"));
    assert!(queue.is_empty(), "it was queued once");
}
