//! What the attributes refuse, and in which words: one fault a file in `ui-tests/fail`.
//!
//! `TRYBUILD=overwrite cargo test -p deadline-ui-tests --test faults` takes new snapshots; read each as a user would.

#[test]
fn faults() {
    trybuild::TestCases::new().compile_fail("fail/*.rs");
}
