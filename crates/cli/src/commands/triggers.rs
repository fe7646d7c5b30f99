//! That something changed: reason enough to look again.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::cluster::{Cluster, Resource, Selection, watch};

/// Which objects matter.
pub(super) type Watched = Vec<(Resource, Selection)>;

/// When a watch cannot be had, we look this often.
const AGAIN: Duration = Duration::from_secs(2);

/// Watches on all that a view is made of. They end with it.
pub(super) struct Triggers {
    changed: Arc<Notify>,
    _watches: JoinSet<()>,
}

impl Triggers {
    pub(super) fn new(cluster: &Cluster, watched: Watched) -> Self {
        let changed = Arc::new(Notify::new());
        let mut watches = JoinSet::new();
        for (resource, selection) in watched {
            watches.spawn(follow(cluster.clone(), resource, selection, Arc::clone(&changed)));
        }
        Self { changed, _watches: watches }
    }

    /// Waits until something has changed since the last call.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }
}

/// Begins with the present state, which counts as a change: nothing is missed between looking and watching.
async fn follow(cluster: Cluster, resource: Resource, selection: Selection, changed: Arc<Notify>) {
    let namespace = cluster.namespace.clone();
    loop {
        if let Ok(mut changes) = watch(&cluster, resource, Some(&namespace), &selection, "").await {
            while let Some(Ok(_)) = changes.next().await {
                changed.notify_one();
            }
        } else {
            tokio::time::sleep(AGAIN).await;
            changed.notify_one();
        }
        // A server that ends watches at once must not be asked without pause.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
