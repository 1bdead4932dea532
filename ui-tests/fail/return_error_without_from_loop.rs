//! The same with a loop and a budget in the body, still one error.
use deadline_runtime::deadline;

#[derive(Debug)]
struct AppError;

async fn fetch(id: u32) -> Result<u32, AppError> {
    std::future::ready(Ok(id)).await
}

#[deadline(budget = "1s")]
async fn load(id: u32) -> Result<u32, AppError> {
    let mut sum = 0;
    for n in 0..id {
        #[budget("10ms")]
        let n = fetch(n).await?;
        sum += n;
    }
    Ok(sum)
}

fn main() {}
