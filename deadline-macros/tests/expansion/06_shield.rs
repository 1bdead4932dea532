#[deadline(budget = "1s")]
pub async fn hand_over(lease: Lease) -> Result<(), AppError> {
    #[shield("50ms")]
    lease.release().await?;
    Ok(())
}
