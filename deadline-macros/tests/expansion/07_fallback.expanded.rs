#[cfg_attr(not(debug_assertions), inline(always))]
pub fn weather(
    places: &[Place],
) -> impl Future<Output = Weather> + deadline::Budgeted<Budget = deadline::Millis<200>> {
    deadline::__same_version! {
        "0.1.0"
    }
    let call_0 = rt::call(0, 0);
    let future = rt::Scoped::ending(
        const { &rt::Spec::<deadline::Millis<200>>::new("weather") }.here(),
        async move {
            let places = places;
            if false {
                return rt::returns::<Weather>();
            }
            {
                let mut weather = Weather::default();
                {
                    let mut pace = rt::Pace::new();
                    for place in places {
                        if let Some(stopped) = pace.checkpoint() {
                            return rt::instead(
                                stopped,
                                |stopped| Weather::unknown(stopped.cause()),
                            );
                        }
                        weather.add(rt::gate(call_0, forecast(place), &call_0).await);
                    }
                }
                weather
            }
        },
        {
            use rt::HandsOut as _;
            rt::Holds::<Weather>::new()
                .deadline_fall_back(move |stopped| Weather::unknown(stopped.cause()))
        },
    );
    {
        struct Calls;
        impl<D: rt::Declares> rt::Fits<D> for Calls {
            const BUDGET: rt::Fit<D> = rt::Limits::of("weather", 200)
                .hold(&rt::Step::Loop(&rt::Step::Call(0, "forecast")));
        }
        match rt::calls((call_0,)) {
            <Calls as rt::Fits<_>>::BUDGET => future,
        }
    }
}
