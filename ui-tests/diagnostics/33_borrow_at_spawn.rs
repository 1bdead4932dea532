//! A borrow that is not `'static` where a thread takes it.
use deadline_runtime::deadline;

struct Failure;

impl From<deadline_runtime::Stopped> for Failure {
    fn from(_: deadline_runtime::Stopped) -> Self {
        Self
    }
}

async fn fetch(n: u32) -> Result<u32, Failure> {
    std::future::ready(Ok(n)).await
}

fn spawn<F: std::future::Future + 'static>(future: F) {
    drop(future);
}

#[deadline(budget = "1s")]
async fn load(text: &str) -> Result<u32, Failure> {
    fetch(text.len() as u32).await
}

fn main() {
    drop(fetch(1));
    let text = String::from("x");
    spawn(load(&text));
}
