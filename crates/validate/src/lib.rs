//! What is wrong with a manifest, as pure functions.
