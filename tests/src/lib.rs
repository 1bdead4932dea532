//! Helpers of the end-to-end tests: real servers, raw sockets, and the events of a run.
//!
//! Everything here works in real time: a paused clock jumps while real I/O is outstanding. Limits in these tests are
//! therefore wide, and what must not happen is counted instead of timed.

pub mod clock;
pub mod events;
pub mod grpc;
pub mod load;
pub mod nginx;
pub mod peers;
pub mod postgres;
pub mod proxy;
pub mod raw;
pub mod table;
