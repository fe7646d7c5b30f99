//! How one kind of object is worked on beside the Rollouts: one after the other from a queue, whatever a look does.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use tidegate_runtime::{Key, Queue};
use tokio::time::Instant;

use crate::controller::said;
use crate::error::LookError;
use crate::reconcile::Next;

/// A kind of object.
pub(crate) trait Lane {
    /// What is to be looked at.
    fn queue(&self) -> &Queue<Key>;
    /// One look.
    fn look(&self, key: &Key) -> impl Future<Output = Result<Next, LookError>> + Send;
    /// A look is over.
    fn looked(&self, key: &Key, took: Duration);
    /// The next one comes after a while.
    fn postponed(&self, key: &Key, delay: Duration);
    /// It failed, and will be repeated.
    fn failed(&self, key: &Key, problem: &LookError);
}

/// Works until the queue is closed.
pub(crate) async fn work(lane: &impl Lane) {
    let queue = lane.queue();
    while let Some(key) = queue.next().await {
        let begun = Instant::now();
        // One object that breaks a rule of ours must not take the others down with it.
        let result = AssertUnwindSafe(lane.look(&key)).catch_unwind().await;
        lane.looked(&key, begun.elapsed());
        match result.unwrap_or_else(|panic| Err(LookError::Panicked(said(&*panic)))) {
            Ok(Next::After(delay)) => {
                queue.forget(&key);
                lane.postponed(&key, delay);
                queue.add_after(key.clone(), delay);
            }
            Ok(Next::OnChange) => queue.forget(&key),
            Ok(Next::Soon) => drop(queue.again(key.clone())),
            Err(problem) => {
                lane.failed(&key, &problem);
                queue.retry(key.clone());
            }
        }
        queue.done(&key);
    }
}
