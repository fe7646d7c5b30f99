//! One leader at a time, by a Lease that client-go's leader election understands.
//!
//! ```text
//!   record.rs     the Lease as it is stored
//!   election.rs   pure: what to do about a record that was seen, by local time alone
//!   driver.rs     reads and writes the Lease, tells who leads
//! ```

mod driver;
mod election;
mod record;

pub use driver::{Leadership, LeaseOptions, Reign, lead};
pub use election::{Election, Step, Timing};
pub use record::{Lease, LeaseSpec};
