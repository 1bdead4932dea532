//! What the smaller stories share.

pub mod timeline;
