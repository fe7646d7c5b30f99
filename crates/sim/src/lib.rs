//! A world on the in-process API: workload controllers and pods, in virtual or real time.
//!
//! [`Manager`] plays what kube-controller-manager does for ReplicaSets, Deployments, Jobs, Endpoints, EndpointSlices,
//! disruption budgets and autoscalers; the node agent plays kubelets. Each controller is a pure function from the
//! objects to what it wants ([`controllers`]); one driver sends the writes, one at a time and in a fixed order, so
//! that the same start gives the same history. [`World`] puts them together and keeps a [`journal`];
//! a simulated [`mesh`] may lie over it.
//! An [`Experiment`] plays a [`Scenario`] with a client under test ([`Subject`]) under seeded [`faults`] and holds it to
//! its [`Invariant`]s.
//!
//! This crate must never know anything of rollouts, and never share code with the controller it is there to test.

pub mod client;
pub mod controllers;
mod differences;
pub mod experiment;
pub mod faults;
pub mod invariants;
pub mod istio;
pub mod journal;
mod manager;
mod memory;
pub mod mesh;
mod objects;
mod random;
pub mod routers;
pub mod scenarios;
pub mod world;

pub use experiment::{Experiment, Invariant, Report, Scenario, Seat, Stage, Subject, Weather};
pub use manager::Manager;
pub use memory::resident;
pub use mesh::{LiveMesh, MeshSetting};
pub use random::Random;
pub use world::{Setting, World};
