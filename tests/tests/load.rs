//! A server under clients of every kind for ten seconds. For longer: the binary `load`.
#![allow(missing_docs, clippy::pedantic)]

use std::alloc::System;
use std::time::Duration;

use cap::Cap;
use deadline_tests::load::run::{Plan, load};
use deadline_tests::load::watch::Watch;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

#[tokio::test(flavor = "multi_thread")]
async fn ten_seconds_of_mixed_load_leave_nothing_behind() {
    let plan = Plan {
        time: Duration::from_secs(10),
        clients: 48,
        live: || ALLOCATOR.allocated(),
    };
    let accounts = load(plan, &Watch::listen()).await.unwrap();
    for table in accounts.tables() {
        table.print();
    }
    assert_eq!(accounts.faults(), Vec::<String>::new());
}
