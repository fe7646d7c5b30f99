//! What is generated, against the contract and against what is committed.

// Said on each module so that the lints know their helper functions for tests.
#[cfg(test)]
mod committed_files;
#[cfg(test)]
mod crd_fields;
#[cfg(test)]
mod install_manifests;
#[cfg(test)]
mod kustomizations;
#[cfg(test)]
mod notifications;
#[cfg(test)]
mod support;
