#[deadline(budget = "900ms", reserve = "100ms")]
pub async fn dashboard(user: UserId) -> Result<Dashboard, AppError> {
    #[budget("300ms")]
    let profile = load_profile(user).await?;
    #[budget("250ms", fallback = Orders::unavailable())]
    let orders = orders_client.recent(user).await?;
    #[budget("50ms")]
    let (news, offers) = tokio::join!(news(user), offers(user));
    #[budget("20ms", times = 5)]
    for order in &orders {
        enrich(order).await?;
    }
    Ok(Dashboard::new(profile, orders, news, offers))
}
