//! Pages that are played as they tell it, with real kubectl and Helm, our plugin and our controller on a real API server that knows
//! Istio's kinds. Istio and the images do not run.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod getting_started;
mod migrating;
mod page;
