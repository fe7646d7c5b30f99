//! What is shown of Rollouts and Experiments: the contract's examples, and why a Rollout is stuck.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod examples;
mod forecast;
mod why;
mod world;
