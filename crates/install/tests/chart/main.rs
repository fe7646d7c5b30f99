//! The Helm chart, rendered by a real Helm: compared with the install manifests, with committed renderings and with what
//! a real API server accepts.
//!
//! Each file in `cases/` holds values; what they render to is in `expected/` under the same name. After a change of the
//! chart, `UPDATE_EXPECTED=1 cargo test -p tidegate-install --test chart` rewrites them, for reading.

// Said on each module so that the lints know their helper functions for tests.
#[cfg(test)]
mod as_installed;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod expected;
#[cfg(test)]
mod on_a_cluster;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod rendering;
