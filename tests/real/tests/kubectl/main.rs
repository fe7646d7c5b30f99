//! The stock kubectl on the embedded cluster, behind TLS and in real time: every command that people try first.

// Marked as tests so that helpers between the test functions may unwrap as those do.
#[cfg(test)]
mod applying;
#[cfg(test)]
mod changing;
#[cfg(test)]
mod cluster;
#[cfg(test)]
mod deleting;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod serverside;
