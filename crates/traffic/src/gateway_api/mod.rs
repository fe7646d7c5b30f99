//! Gateway API, under the name and with the configuration of the plugin that does the same.
//!
//! Rules that header steps add are known by their position, which a ConfigMap keeps in the plugin's form, so that one
//! can go over to it and come back in the middle of an update.

mod book;
mod config;
mod header_rule;
mod kind;
mod managed;
mod router;
mod rules;

pub use router::{GatewayApi, PLUGIN};
