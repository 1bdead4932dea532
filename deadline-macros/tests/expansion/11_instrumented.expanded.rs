#[tracing::instrument(skip_all)]
#[deadline::deadline(budget = "450ms")]
pub async fn load_profile(user: UserId) -> Result<Profile, AppError> {
    profiles().find(user).await
}
