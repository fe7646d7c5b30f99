//! Requests that end: with an answer, a refusal, or without an answer after a while.

use std::future::Future;
use std::time::Duration;

use kube::api::{PatchParams, PostParams};

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// The name under which writes are recorded, that of the program we stand in for.
const MANAGER: &str = "kube-controller-manager";

/// Why a piece of work did not get done. It is tried again whatever the reason.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The server said no.
    Refused,
    /// No answer came; the write may have taken effect.
    Silent,
    /// What we wanted to write is no object of its kind.
    Unwritable,
}

/// The code of a refusal, 0 for anything else.
pub(super) fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        _ => 0,
    }
}

/// Waits for an answer, but not for ever.
pub(super) async fn ask<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, Trouble> {
    answer(request).await?.map_err(|_| Trouble::Refused)
}

/// As [`ask`], for callers that tell refusals apart.
pub(super) async fn answer<T>(request: impl Future<Output = kube::Result<T>>) -> Result<kube::Result<T>, Trouble> {
    tokio::time::timeout(PATIENCE, request).await.map_err(|_| Trouble::Silent)
}

pub(super) fn by() -> PostParams {
    PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() }
}

pub(super) fn patched_by() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}
