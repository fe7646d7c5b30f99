//! What will happen: a user's manifests in virtual time, with the unchanged controller on the embedded cluster behind the
//! simulated mesh.
//!
//! ```text
//!   input.rs  references.rs         files, and what is missing in them
//!   assumed.rs  metrics.rs          what is made up, and said: Services, Gateways, values of metrics
//!   setting.rs  quantities.rs       how a run goes: images, versions, faults, acts
//!   scenario.rs  words.rs           the same, as a file says it and as flags say it
//!   stage.rs  weather.rs            cluster, controller and mesh put together; faults that begin with the update
//!   loads.rs  traffic.rs            requests, and the mesh they pass through
//!   answers.rs                      what metric services say
//!   users.rs                        what people do: images, promotions, aborts
//!   seen.rs  state.rs  record.rs    every write as it takes effect, and the timeline made of it
//!   play.rs                         one run, from the first object to the end of the update
//!   seeds.rs                        many runs under different faults
//!   report/                         what came of it: text, JSON, HTML
//! ```
//!
//! The same input, setting and seed give the same report, to the byte.
//!
//! This crate must never decide about a Rollout, write what no user and no controller would write, read a clock but that of
//! its world, or make something up without saying so.

mod answers;
mod assumed;
mod input;
mod loads;
mod metrics;
mod play;
pub mod quantities;
mod record;
mod references;
pub mod report;
pub mod scenario;
mod seeds;
mod seen;
mod setting;
mod stage;
mod state;
mod traffic;
mod users;
mod weather;
pub mod words;

pub use input::{Input, InputError, Reader};
pub use play::{Interrupted, PlayError, simulate};
pub use report::Report;
pub use seeds::{Distribution, SeedResult, SeedsReport, WorstSeed, run_seeds};
pub use setting::{Act, Assume, Deed, Expect, Faults, Given, ImageChange, Setting, Version, VersionSetting};
