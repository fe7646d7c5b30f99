//! Pods that start, stop, crash and hang as a test asks.
