#[deadline(budget = "200ms", fallback = |stopped| Weather::unknown(stopped.cause()))]
pub async fn weather(places: &[Place]) -> Weather {
    let mut weather = Weather::default();
    for place in places {
        weather.add(forecast(place).await);
    }
    weather
}
