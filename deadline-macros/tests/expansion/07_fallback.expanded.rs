#[cfg_attr(not(debug_assertions), inline(always))]
pub fn weather(
    places: &[Place],
) -> impl Future<Output = Weather> + deadline::Budgeted<Budget = deadline::Millis<200>> {
    deadline::__same_version! {
        "0.1.0"
    }
    use rt::{Gates as _, HandsOut as _};
    let call_0 = rt::call(0);
    rt::Scoped::ending(
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
                        weather
                            .add(rt::At(forecast(place)).__deadline_gate(call_0).await);
                    }
                }
                weather
            }
        },
        {
            {
                struct Calls;
                impl<D: rt::Declares> rt::Fits<D> for Calls {
                    const BUDGET: rt::Fit<D> = rt::Limits::of("weather", 200)
                        .hold("loop(0 forecast)");
                }
                let <Calls as rt::Fits<_>>::BUDGET = rt::calls((call_0,));
            }
            rt::Holds::<Weather>::new()
                .deadline_fall_back(move |stopped| Weather::unknown(stopped.cause()))
        },
    )
}
