#[deadline(budget = "450ms")]
#[tracing::instrument(skip_all)]
pub async fn load_profile(user: UserId) -> Result<Profile, AppError> {
    profiles().find(user).await
}
