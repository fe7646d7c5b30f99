//! The routers, section by section of their contract, and Istio where it is one of them.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod alb;
mod alb_verify;
mod ambassador;
mod apisix;
mod app_mesh;
mod configured;
mod gateway_api;
mod generated;
mod istio;
mod nginx;
mod reach;
mod setup;
mod smi;
mod traefik;
mod world;
