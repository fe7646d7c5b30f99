//! Controllers, pods and faults on the in-process API, an hour in a moment.

// Marked as tests so that helpers between the test functions may unwrap as those do.
#[cfg(test)]
mod determinism;
#[cfg(test)]
mod disruption;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod journal;
#[cfg(test)]
mod pods;
#[cfg(test)]
mod scaling;
#[cfg(test)]
mod services;
#[cfg(test)]
mod support;
#[cfg(test)]
mod watcher;
#[cfg(test)]
mod workloads;
