//! The pure decision engine.
