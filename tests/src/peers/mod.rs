//! gRPC in other languages: programs of `tests/peers` that serve `peer.proto` and make calls on demand.
//!
//! * [`process`]: a child that ends with its parent, and the lines it prints.
//! * [`proto`]: our end of `peer.proto`, by hand, because a build must not need `protoc`.
//! * [`ours`]: the peer that we are, on tonic and our layers.
//! * [`peer`]: a program of another language, asked and watched.
//! * [`raw`]: a call as HTTP/2 frames, for what no library would send.

pub mod ours;
pub mod peer;
pub mod process;
pub mod proto;
pub mod raw;
