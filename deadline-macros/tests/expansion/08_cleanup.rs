#[deadline(budget = "1s", reserve = "100ms", cleanup = "50ms")]
pub async fn transfer(from: Account, to: Account) -> Result<Receipt, AppError> {
    let booked = book(from, to).await?;
    Ok(booked.receipt().await)
}
