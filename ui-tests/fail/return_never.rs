//! A function that never returns.
use deadline_runtime::deadline;

#[deadline(budget = "1s")]
async fn load() -> ! {
    loop {
        std::future::ready(()).await;
    }
}

fn main() {}
