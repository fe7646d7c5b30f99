//! The wire contract: the five kinds, their names, defaults and hashes.
