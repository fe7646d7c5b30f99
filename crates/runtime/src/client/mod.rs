//! How requests leave: counted, never faster than asked, never waiting for ever.
//!
//! ```text
//!   asked.rs     what a request asks for, from its method and address
//!   bucket.rs    pure: when the next request may go
//!   manners.rs   the layer on kube's client
//! ```

mod asked;
mod bucket;
mod manners;

pub use asked::Asked;
pub use bucket::Rate;
pub use manners::{Mannered, Manners};
