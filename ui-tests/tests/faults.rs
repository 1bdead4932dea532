//! What the attributes refuse, and in which words: one fault a file in `ui-tests/fail`.
//!
//! `TRYBUILD=overwrite cargo test -p deadline-ui-tests --test faults` takes new snapshots; read each as a user would.

#[test]
fn faults() {
    trybuild::TestCases::new().compile_fail("fail/*.rs");
}

/// What should compile and run and does not yet: each moves to `shapes/` once it does.
#[test]
#[ignore = "known to break"]
fn open() {
    trybuild::TestCases::new().pass("open/*.rs");
}
