//! kube's own watcher and reflector, unchanged, through everything that ends a watch.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams};
use kube::runtime::watcher::{self, Event, watcher};
use kube::runtime::{WatchStreamExt, reflector};
use kube::{Api, ResourceExt};
use serde_json::json;
use tidegate_apiserver::{Deliver, Delivery, Faults};
use tidegate_sim::{Setting, World};

use crate::support::{api, create, pass, patch};

/// Does one thing to the next delivery.
#[derive(Default)]
struct Once(Mutex<Option<Deliver>>);

impl Faults for Once {
    fn deliver(&self, _: &Delivery<'_>) -> Deliver {
        self.0.lock().unwrap().take().unwrap_or_default()
    }
}

struct Reflected {
    world: World,
    faults: Arc<Once>,
    store: reflector::Store<ConfigMap>,
    /// How often the watcher started over.
    lists: Arc<Mutex<u32>>,
}

impl Reflected {
    fn start(config: watcher::Config) -> Self {
        let faults = Arc::new(Once::default());
        let setting = Setting { faults: Arc::clone(&faults) as Arc<dyn Faults>, ..Setting::new(1) };
        let mut world = World::empty(setting);
        let (store, writer) = reflector::store();
        let maps: Api<ConfigMap> = Api::all(world.client("watcher"));
        let lists = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&lists);
        let events = reflector(writer, watcher(maps, config).default_backoff());
        world.add(events.for_each(move |event| {
            if matches!(event, Ok(Event::Init)) {
                *counted.lock().unwrap() += 1;
            }
            std::future::ready(())
        }));
        Self { world, faults, store, lists }
    }

    async fn change(&self, name: &str) {
        create::<ConfigMap>(&self.world, json!({"metadata": {"name": name}})).await;
        create::<ConfigMap>(&self.world, json!({"metadata": {"name": format!("{name}-gone")}})).await;
        patch::<ConfigMap>(&self.world, name, json!({"data": {"k": name}})).await;
        api::<ConfigMap>(&self.world).delete(&format!("{name}-gone"), &DeleteParams::default()).await.unwrap();
    }

    /// The reflected store has what the server has, to the version.
    async fn assert_same(&self, after: &str) {
        pass(&self.world, 120).await;
        let versions = |maps: Vec<ConfigMap>| -> BTreeMap<String, Option<String>> {
            maps.into_iter().map(|map| (map.name_any(), map.resource_version())).collect()
        };
        let reflected = versions(self.store.state().iter().map(|map| (**map).clone()).collect());
        let there = versions(api::<ConfigMap>(&self.world).list(&ListParams::default()).await.unwrap().items);
        assert_eq!(reflected, there, "after {after}");
    }

    fn lists(&self) -> u32 {
        *self.lists.lock().unwrap()
    }
}

async fn survives(config: watcher::Config) {
    let reflected = Reflected::start(config);
    reflected.change("a").await;
    reflected.assert_same("the first list").await;
    assert_eq!(reflected.lists(), 1);

    for (round, (fault, what)) in
        [(Deliver::End, "a break"), (Deliver::Delay(Duration::from_secs(30)), "a delay"), (Deliver::Pass, "calm")]
            .into_iter()
            .enumerate()
    {
        *reflected.faults.0.lock().unwrap() = Some(fault);
        reflected.change(&format!("b{round}")).await;
        reflected.assert_same(what).await;
        assert_eq!(reflected.lists(), 1, "{what} needs no new list");
    }

    *reflected.faults.0.lock().unwrap() = Some(Deliver::Expire);
    reflected.change("c").await;
    reflected.assert_same("an expiry").await;
    assert_eq!(reflected.lists(), 2);

    // Everything is forgotten while the watch is broken: it cannot go on from where it was.
    *reflected.faults.0.lock().unwrap() = Some(Deliver::End);
    reflected.change("d").await;
    reflected.world.server().compact();
    reflected.assert_same("a compaction").await;
    assert!(reflected.lists() >= 2);

    // Longer than any watch lives.
    pass(&reflected.world, 3600).await;
    reflected.change("e").await;
    reflected.assert_same("an hour").await;
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_lists_and_watches_ends_with_what_the_server_has() {
    survives(watcher::Config::default()).await;
}

#[tokio::test(start_paused = true)]
async fn a_watcher_of_small_pages_ends_with_what_the_server_has() {
    survives(watcher::Config::default().page_size(2)).await;
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_streams_its_list_ends_with_what_the_server_has() {
    survives(watcher::Config::default().streaming_lists()).await;
}
