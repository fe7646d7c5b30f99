//! What Prometheus is told about a queue.

use std::time::Duration;

use tidegate_runtime::metrics::Registry;
use tidegate_runtime::{Backoff, Queue};

#[tokio::test(start_paused = true)]
async fn a_queue_tells_depth_adds_retries_and_times_under_its_name() {
    let registry = Registry::default();
    let queue = Queue::new(Backoff::default());
    queue.register("Rollouts", &registry);
    queue.add("a".to_owned());
    queue.add("a".to_owned());
    queue.add("b".to_owned());
    tokio::time::sleep(Duration::from_secs(2)).await;
    let first = queue.next().await.unwrap();
    queue.add(first.clone());
    queue.add_after("c".to_owned(), Duration::from_secs(60));
    tokio::time::sleep(Duration::from_secs(3)).await;

    let text = registry.text();
    let value = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix("{name=\"Rollouts\"} "));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    };
    assert_eq!(value("workqueue_depth"), 2.0, "b, and a again");
    assert_eq!(value("workqueue_adds_total"), 3.0, "a key that waits already is not added again");
    assert_eq!(value("workqueue_retries_total"), 1.0);
    assert_eq!(value("workqueue_queue_duration_seconds_sum"), 2.0);
    assert_eq!(value("workqueue_work_duration_seconds_count"), 0.0);
    assert_eq!(value("workqueue_unfinished_work_seconds"), 3.0);
    assert_eq!(value("workqueue_longest_running_processor_seconds"), 3.0);
    let bounds: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("workqueue_work_duration_seconds_bucket{name=\"Rollouts\",le=\""))
        .filter_map(|line| line.split('"').next())
        .collect();
    assert_eq!(
        bounds,
        [
            "1e-08",
            "1e-07",
            "1e-06",
            "9.999999999999999e-06",
            "9.999999999999999e-05",
            "0.001",
            "0.01",
            "0.1",
            "1",
            "10",
            "100",
            "1000",
            "+Inf"
        ],
        "as the Go client writes them"
    );

    queue.done(&first);
    let figures = queue.figures();
    assert_eq!((figures.depth, figures.later, figures.running.len()), (2, 1, 0));
}
