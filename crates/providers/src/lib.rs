//! Metric providers: where the numbers of an analysis come from.
//!
//! Each provider is a conversation without I/O ([`Talk`]): from a metric comes a [`Request`], from its [`Response`] comes
//! either the next request or a [`Reading`]. What is asked and what an answer means can so be tested against the
//! documentation of each service, without the service. One [`Client`] carries all requests (tests put another [`Transport`] in its place): with timeouts, bounded
//! bodies, TLS, proxies, and a list of hosts that may not be reached. [`measure`] puts the two together and gives the
//! [`tidegate_analysis::Report`] that the run's next step takes in; it never fails and never takes down its caller.
//! Jobs are no HTTP; the module `job` builds and reads them, and the caller talks to the cluster.
//!
//! This crate must never write to a cluster, decide about a run, put a credential into a message, or wait without bound.

pub mod aws;
pub mod call;
pub mod client;
mod credentials;
pub mod elb;
mod examine;
pub mod form;
pub mod go_values;
mod measure;
mod message;
pub mod oauth2;
mod talk;

#[cfg(feature = "cloudwatch")]
pub mod cloudwatch;
#[cfg(feature = "datadog")]
pub mod datadog;
#[cfg(feature = "graphite")]
pub mod graphite;
#[cfg(feature = "influxdb")]
pub mod influxdb;
#[cfg(feature = "job")]
pub mod job;
#[cfg(feature = "web")]
pub mod jsonpath;
#[cfg(feature = "kayenta")]
pub mod kayenta;
#[cfg(feature = "newrelic")]
pub mod newrelic;
#[cfg(feature = "prometheus")]
pub mod prometheus;
#[cfg(feature = "skywalking")]
pub mod skywalking;
#[cfg(feature = "wavefront")]
pub mod wavefront;
#[cfg(feature = "web")]
pub mod web;
pub mod xml;

pub use call::{Call, Surroundings};
pub use client::{Client, Hosts, Proxies, Transport, TransportError};
pub use credentials::{SecretName, SecretSource, secret_needed};
pub use examine::examine;
pub use measure::measure;
pub use message::{Authorization, Method, Request, Response};
pub use talk::{Failure, Reading, Talk, Turn, open};
