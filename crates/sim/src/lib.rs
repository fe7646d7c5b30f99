//! A world on the in-process API: workload controllers and pods, in virtual or real time.
//!
//! [`Manager`] plays what kube-controller-manager does for ReplicaSets, Deployments, Jobs and EndpointSlices; the node agent plays kubelets.
//! Each controller is a pure function from the objects to what it wants ([`controllers`]); one driver sends the writes,
//! one at a time and in a fixed order, so that the same start gives the same history.
//!
//! This crate must never know anything of rollouts, and never share code with the controller it is there to test.

pub mod controllers;
mod manager;
mod objects;

pub use manager::Manager;
