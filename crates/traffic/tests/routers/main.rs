//! The routers besides Istio, section by section of their contract.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod alb;
mod alb_verify;
mod ambassador;
mod apisix;
mod app_mesh;
mod configured;
mod gateway_api;
mod generated;
mod nginx;
mod setup;
mod smi;
mod traefik;
mod world;
