//! The in-process API under `kube::Client` and over a socket.

// Marked as tests so that helpers between the test functions may unwrap as those do.
#[cfg(test)]
mod applying;
#[cfg(test)]
mod collection;
#[cfg(test)]
mod custom;
#[cfg(test)]
mod decoding;
#[cfg(test)]
mod describing;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod junk;
#[cfg(test)]
mod kinds;
#[cfg(test)]
mod objects;
#[cfg(test)]
mod pods;
#[cfg(test)]
mod preconditions;
#[cfg(test)]
mod socket;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod watching;
