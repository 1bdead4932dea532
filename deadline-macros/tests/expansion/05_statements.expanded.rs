#[cfg_attr(not(debug_assertions), inline(always))]
pub fn dashboard(
    user: UserId,
) -> impl Future<
    Output = Result<Dashboard, AppError>,
> + deadline::Budgeted<Budget = deadline::Millis<900>> {
    deadline::__same_version! {
        "0.1.0"
    }
    use rt::{HandsOut as _, Settle as _};
    rt::Scoped::ending(
        const { &rt::Spec::<deadline::Millis<900>>::new("dashboard").reserve(100) }
            .here(),
        async move {
            let user = user;
            if false {
                return rt::returns::<Result<Dashboard, AppError>>();
            }
            {
                let limit = rt::Limit::start(const {
                    &rt::Spec::<deadline::Millis<300>>::new("load_profile")
                });
                let profile = match limit.run(load_profile(user)).await {
                    Ok(value) => value,
                    Err(stopped) => {
                        return rt::stop::<Result<Dashboard, AppError>>(stopped);
                    }
                }?;
                let orders = 'budget: {
                    let limit = rt::Limit::start(const {
                        &rt::Spec::<deadline::Millis<250>>::new("orders_client.recent")
                    });
                    match limit
                        .run_or_miss(orders_client.recent(user))
                        .await
                        .deadline_settle()
                    {
                        Ok(value) => value,
                        Err(stopped) => {
                            break 'budget Orders::unavailable();
                        }
                    }?
                };
                let limit = rt::Limit::start(const {
                    &rt::Spec::<deadline::Millis<50>>::new("join!")
                });
                let (news, offers) = match limit
                    .run(async { tokio::join!(news(user), offers(user)) })
                    .await
                {
                    Ok(value) => value,
                    Err(stopped) => {
                        return rt::stop::<Result<Dashboard, AppError>>(stopped);
                    }
                };
                {
                    let mut pace = rt::Pace::new();
                    for order in &orders {
                        let limit = rt::Limit::start(const {
                            &rt::Spec::<deadline::Millis<20>>::new("enrich")
                        });
                        if let Some(stopped) = pace.checkpoint() {
                            return rt::stop::<Result<Dashboard, AppError>>(stopped);
                        }
                        match limit.run(enrich(order)).await {
                            Ok(value) => value,
                            Err(stopped) => {
                                return rt::stop::<Result<Dashboard, AppError>>(stopped);
                            }
                        }?;
                    }
                }
                Ok(Dashboard::new(profile, orders, news, offers))
            }
        },
        rt::Holds::<Result<Dashboard, AppError>>::new()
            .deadline_carry(|stopped| rt::stop::<Result<Dashboard, AppError>>(stopped)),
    )
}
