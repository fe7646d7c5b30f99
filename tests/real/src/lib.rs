//! What must be true on a real API server.
