//! The controller as a program: flags, environment, wiring, and nothing else.
//!
//! ```text
//!   flags.rs      what may be asked for          connect.rs    the way to the cluster
//!   identity.rs   who and where we are           process.rs    start, lead, run, stop
//!   pages.rs      health, figures, a look inside analysis.rs   what providers and Jobs may use
//!   admission.rs  asked before objects are stored
//! ```
//!
//! This program must never decide about a Rollout, and it must never go on without the lease.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what is said before there is a log")]

mod admission;
mod analysis;
mod client;
mod connect;
mod flags;
mod identity;
mod notifications;
mod pages;
mod process;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // Before anything can open a connection: with two providers in the tree the first use would panic.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        eprintln!("Error: a TLS provider was installed already");
        return ExitCode::FAILURE;
    }
    let flags = flags::Flags::parse();
    if flags.version {
        println!("rollouts-controller: {}", tidegate_build_info::version());
        return ExitCode::SUCCESS;
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("Error: no threads to run on: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = match runtime.block_on(process::run(flags)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    };
    // Whatever still waits on a connection has had its time.
    runtime.shutdown_background();
    code
}
