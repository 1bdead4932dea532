pub fn weather(
    places: &[Place],
) -> impl Future<Output = Weather> + deadline::Budgeted<Budget = deadline::Millis<200>> {
    deadline::__same_version! {
        "0.1.0"
    }
    rt::Scoped::with_fallback(
        const { &rt::Spec::<deadline::Millis<200>>::new("weather") },
        async move {
            use rt::Leaf as _;
            let places = places;
            if false {
                return rt::returns::<Weather>();
            }
            {
                let mut weather = Weather::default();
                for place in places {
                    if let Some(stopped) = rt::checkpoint() {
                        return rt::instead(
                            stopped,
                            |stopped| Weather::unknown(stopped.cause()),
                        );
                    }
                    weather.add(rt::At(forecast(place)).deadline_gate().await);
                }
                weather
            }
        },
        move |stopped| Weather::unknown(stopped.cause()),
    )
}
