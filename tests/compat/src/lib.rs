//! The wire contract as tables, and the runner that holds us to them.
