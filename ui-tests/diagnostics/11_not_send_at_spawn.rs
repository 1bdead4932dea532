//! A future that is not Send where a thread takes it.
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

fn spawn<F: std::future::Future + Send + 'static>(future: F) {
    drop(future);
}

#[deadline(budget = "1s")]
async fn load(n: u32) -> Result<u32, Failure> {
    let rc = std::rc::Rc::new(n);
    fetch(n).await?;
    Ok(*rc)
}

fn main() {
    drop(fetch(1));
    spawn(load(1));
}
