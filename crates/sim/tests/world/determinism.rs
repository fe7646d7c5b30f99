//! One seed, one history.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Service;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;
use tidegate_sim::{Setting, World};

use crate::support::{api, create, deployment, pass, patch};

/// A few things at once, in a runtime of their own; the log of everything that came of it.
fn history(seed: u64) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let world = World::start(Setting { keeps_log: true, ..Setting::new(seed) });
        for (name, size) in [("web", 4), ("api", 3), ("batch", 2)] {
            create::<Deployment>(&world, deployment(name, size, "image:1")).await;
            let spec = json!({"selector": {"app": name}, "ports": [{"port": 80}]});
            create::<Service>(&world, json!({"metadata": {"name": name}, "spec": spec})).await;
        }
        let pod = json!({"metadata": {"annotations": {"node-agent.tidegate.dev/exit-code": "0"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "job"}]}});
        create::<Job>(&world, json!({"metadata": {"name": "once"}, "spec": {"template": pod}})).await;
        pass(&world, 20).await;
        for name in ["web", "api"] {
            let containers = json!([{"name": "main", "image": "image:2"}]);
            patch::<Deployment>(&world, name, json!({"spec": {"template": {"spec": {"containers": containers}}}}))
                .await;
        }
        pass(&world, 120).await;
        api::<Deployment>(&world).delete("batch", &DeleteParams::foreground()).await.unwrap();
        pass(&world, 60).await;
        assert_eq!(api::<Deployment>(&world).list(&ListParams::default()).await.unwrap().items.len(), 2);
        world.journal().log()
    })
}

#[test]
fn the_same_seed_gives_the_same_history_to_the_byte_and_another_seed_another() {
    let first = history(7);
    assert!(first.lines().count() > 500, "{}", first.lines().count());
    let second = history(7);
    let differs = first.lines().zip(second.lines()).find(|(a, b)| a != b);
    assert_eq!(differs, None);
    assert!(first == second);
    assert!(history(8) != first);
}

#[test]
fn a_line_of_the_history_says_when_who_what_and_how_it_changed() {
    let log = history(7);
    let write =
        log.lines().find(|line| line.contains("write manager") && line.contains("replicasets.apps/default/web"));
    let write = write.unwrap();
    assert!(write.contains("create") && write.contains(" rv ") && write.contains("spec.replicas=4"), "{write}");
    let event = log.lines().find(|line| line.contains("event node-agent") && line.contains("ADDED")).unwrap();
    assert!(event.contains("pods/default/") && event.contains(" rv ") && event.contains(" #"), "{event}");
}
