//! Go-compatible hashes of pod templates and canary steps.
