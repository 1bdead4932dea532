//! A macro of another version than the runtime.

deadline_runtime::__same_version!("0.0.9");

fn main() {}
