/// The profile of a user.
#[deadline(budget = "450ms", reserve = "50ms", min = "20ms")]
pub async fn load_profile(user: UserId) -> Result<Profile, AppError> {
    let row = profiles().find(user).await?;
    Ok(Profile::from(row))
}
