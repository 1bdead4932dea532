//! A fallback that needs a parameter which the body takes.
use deadline_runtime::deadline;

#[deadline(budget = "1s", fallback = name)]
async fn load(name: String) -> String {
    name
}

fn main() {}
