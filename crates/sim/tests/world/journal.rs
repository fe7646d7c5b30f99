//! The journal misses nothing.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::json;
use tidegate_sim::{Setting, World};

/// One request may change more than the server remembers for its watches.
#[tokio::test(start_paused = true)]
async fn a_request_that_removes_more_than_the_log_holds_is_seen_whole() {
    let world = World::empty(Setting::new(1));
    let api: Api<ConfigMap> = Api::default_namespaced(world.client("user"));
    for number in 0..2500 {
        let object = json!({"metadata": {"name": format!("m-{number}")}});
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }
    assert_eq!(world.journal().mirror().of("configmaps").count(), 2500);
    api.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    assert_eq!(world.journal().mirror().of("configmaps").count(), 0);
}
