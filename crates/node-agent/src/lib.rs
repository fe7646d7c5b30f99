//! Pods that start, stop, crash and hang as a test asks.
//!
//! A cluster for tests has an API and controllers but no machines. This crate plays scheduler and kubelet: it binds
//! pods to nodes that exist only as objects, reports the status that a kubelet would report, and removes deleted pods
//! after a while. It must never decide anything about rollouts, never talk to a container engine, never read a clock
//! other than the one passed in, and never leave a process behind.
//!
//! - [`behaviour`] reads what a pod asks for, [`step`] (pure) says what to do next, [`Agent`] does it.
//! - All requests go through the [`kube::Client`] passed in and all waiting through tokio's clock, so the same agent
//!   runs against a real API server and against an in-process one in virtual time.
//!
//! # Annotations
//!
//! All under `node-agent.tidegate.dev/`, on the pod (usually through the pod template). They may be changed on a
//! running pod. Durations are written `500ms`, `2s`, `1m30s` or as a bare number of seconds. A key that does not
//! exist or a value that is not understood is reported on the pod (`status.message`, a Warning event
//! `InvalidAnnotation`): a pod that runs to completion becomes `Failed`, any other stays `Pending` with
//! `CreateContainerConfigError`.
//!
//! | key | value | meaning | default |
//! | --- | --- | --- | --- |
//! | `start-delay` | duration | from being placed on the node to the containers running | 500ms |
//! | `stop-delay` | duration | from deletion to removal, at most the grace period | 1s to 3s, fixed per pod |
//! | `unschedulable` | `true`/`false` | the pod is never placed (`PodScheduled` is `False`, reason `Unschedulable`) | `false` |
//! | `container` | name | which container the keys below are about | the first |
//! | `ready-after` | duration | from a start of the container to its being ready; instead of the probe's delay | the probe's |
//! | `never-ready` | `true`/`false` | the container runs but is never ready | `false` |
//! | `unready-after` | duration | from the first start to the container becoming unready | never |
//! | `unready-for` | duration | how long it then stays unready | for ever |
//! | `crash-after` | duration | each run ends after this long with `exit-code` (1 if not given) | never |
//! | `crash-times` | number | so many runs end that way; the next serves on (or ends with 0 in a Job) | all |
//! | `crash-backoff` | duration | pause before the second restart, then doubling up to 5m; at least 100ms | 10s |
//! | `exit-code` | 0 to 255 | exit code of scripted ends; on a run-to-completion pod it replaces the command | 0, or 1 with `crash-after` |
//! | `run-for` | duration | as `crash-after` with exit code 0; on a run-to-completion pod it replaces the command | 1s where a run must end |
//! | `pull-error` | `true`/`false` | pulling the image fails (`ErrImagePull`, `ImagePullBackOff`) | `false` |
//! | `pull-error-for` | duration | pulling fails this long, then succeeds | for ever |
//!
//! Images whose name contains `bad-image` or ends in `:does-not-exist` fail to be pulled without any annotation.
//!
//! # What is played and what is not
//!
//! Readiness follows `initialDelaySeconds` of the readiness and startup probes (probes are never sent) and the pod's
//! readiness gates. Init containers are taken as run. The first restart of a container comes one second after its
//! end, later ones after a back-off, as `CrashLoopBackOff`. Pods of a Job, and pods with a command whose restart
//! policy is not `Always`, run their command as a local process in its own process group
//! ([`Defaults::processes`] turns that off; then `run-for` and `exit-code` decide). Pod addresses are unique in
//! 10.128.0.0/9 and only data.

mod agent;
pub mod behaviour;
mod duration;
mod fleet;
mod jobs;
mod lifecycle;
mod status;
mod timeline;
mod writes;

pub use agent::{Agent, Options, Reporter};
pub use behaviour::{BadAnnotation, Behaviour, Defaults, PREFIX};
pub use lifecycle::{Action, PodView, Step, Warning, step};
pub use timeline::{Exit, Process, ProcessState};

/// FNV-1a, 64 bits: a number from a name, the same in every run.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
