//! Hedging.
