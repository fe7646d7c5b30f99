//! A cluster without a cluster: the Kubernetes API, pods, a mesh under load, the controller and a demo application in one process
//! and in real time, for people who want to see a canary.
//!
//! ```text
//!   scenario.rs  demo/     what is shown: manifests, and the commands to try, in order
//!   cluster.rs             the API, nodes, workload controllers, the mesh and our controller put together
//!   prometheus.rs          metrics that analyses ask for, answered by the mesh
//!   versions.rs            what the tag of an image says of the pods that run it
//!   app/                   the port of the application: a gateway for real requests, and a page that shows the mix
//!   ports.rs  folder.rs    where it listens, and the files for other programs
//!   kept.rs                the state in a folder, from one time to the next
//!   playground.rs          all of it, from start to end
//! ```
//!
//! This crate must never decide anything about a Rollout, reach beyond this machine but for metrics that a user's own template
//! asks of another address, or leave a file or a port behind.

mod app;
mod cluster;
mod error;
mod folder;
mod kept;
mod playground;
mod ports;
mod prometheus;
mod scenario;
mod versions;

pub use error::PlaygroundError;
pub use playground::{Options, Playground, Totals};
pub use ports::Ports;
pub use scenario::{Scenario, Speed, Try};
