//! The shapes of `deadline-ui-tests`, compiled as a crate of edition 2018: see `tests/shapes.rs`.
