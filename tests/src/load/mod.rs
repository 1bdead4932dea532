//! A server under clients of every kind at once, and its accounts at the end.
//!
//! * [`clients`]: what each kind does, and what it may be answered.
//! * [`service`]: the server, and the gauges of its handlers.
//! * [`grpc`]: a server that speaks gRPC, and calls of it.
//! * [`probe`]: every request counted from its head to the end of its answer, outside our layer.
//! * [`watch`]: every event of the process, counted and searched for secrets.
//! * [`process`]: what this process holds: tasks, descriptors, memory.
//! * [`accounts`]: whether all of that balances.
//! * [`run`]: all of it together, for a while.

pub mod accounts;
pub mod clients;
pub mod grpc;
pub mod probe;
pub mod process;
pub mod run;
pub mod service;
pub mod watch;
