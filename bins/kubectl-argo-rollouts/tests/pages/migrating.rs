//! docs/migrate-from-argo-rollouts.md

use std::time::Duration;

use tidegate_testbed::Testbed;
use tokio::time::Instant;

use crate::page::{Reader, control, play, prepared};

/// A cluster on which another controller has brought the demo to its end.
async fn before(testbed: &Testbed, reader: &Reader) {
    reader.run("kubectl create namespace argo-rollouts").await;
    reader.run("kubectl apply -n argo-rollouts -f manifests/install.yaml").await;
    reader.run("kubectl wait --for=condition=Established crd --all").await;
    reader.run("kubectl -n argo-rollouts set image deploy/argo-rollouts argo-rollouts=argo-rollouts:before").await;
    reader.run("kubectl -n argo-rollouts rollout status deploy/argo-rollouts").await;
    reader.run("kubectl apply -f docs/getting-started/demo.yaml").await;
    let former = control(testbed).await;
    let begun = Instant::now();
    let phase = "kubectl get rollout demo -o jsonpath={.status.phase}";
    while reader.run(phase).await != "Healthy" {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", reader.run("kubectl get rollout demo -o yaml").await);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    former.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_for_migrations_does_what_it_says_and_touches_nothing() {
    let (testbed, reader) = prepared().await;
    before(&testbed, &reader).await;
    let look = "kubectl get rollout,replicaset,pod,virtualservice \
                -o jsonpath='{range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{\"\\n\"}{end}'";
    let seen = reader.run(look).await;
    assert!(seen.contains("VirtualService/demo ") && seen.contains("Pod/demo-"), "{seen}");
    let (mut commands, mut scaled) = (0, 0);
    let mut ours = None;
    play("docs/migrate-from-argo-rollouts.md", &reader, async |command| {
        commands += 1;
        // The pods of the Deployment run nothing, so whenever the page starts ours, it is started here.
        scaled += usize::from(command.contains(" scale deploy"));
        if command.contains("--replicas=1") && ours.is_none() {
            ours = Some(control(&testbed).await);
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
    })
    .await;
    assert!(commands >= 8 && scaled == 4 && ours.is_some(), "{commands} commands, {scaled} times scaled");
    assert_eq!(reader.run(look).await, seen, "no object of the demo was written");
    let image =
        "kubectl -n argo-rollouts get deploy argo-rollouts -o jsonpath='{.spec.template.spec.containers[0].image}'";
    assert_eq!(reader.run(image).await, "argo-rollouts:before", "and the way back leads back");
}
