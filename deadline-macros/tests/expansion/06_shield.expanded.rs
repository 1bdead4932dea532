#[cfg_attr(not(debug_assertions), inline(always))]
pub fn hand_over(
    lease: Lease,
) -> impl Future<
    Output = Result<(), AppError>,
> + deadline::Budgeted<Budget = deadline::Millis<1000>> {
    deadline::__same_version! {
        "0.1.0"
    }
    use rt::HandsOut as _;
    rt::Scoped::ending(
        const { &rt::Spec::<deadline::Millis<1000>>::new("hand_over") }.here(),
        async move {
            let lease = lease;
            if false {
                return rt::returns::<Result<(), AppError>>();
            }
            {
                match (
                    rt::Shield::enter(const {
                        &rt::Spec::<deadline::Millis<50>>::new("lease.release")
                    }),
                    lease.release(),
                ) {
                    (shield, future) => {
                        match shield.run(future).await {
                            Ok(value) => value,
                            Err(stopped) => {
                                return rt::stop::<Result<(), AppError>>(stopped);
                            }
                        }
                    }
                }?;
                Ok(())
            }
        },
        rt::Holds::<Result<(), AppError>>::new()
            .deadline_carry(|stopped| rt::stop::<Result<(), AppError>>(stopped)),
    )
}
