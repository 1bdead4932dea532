#[cfg_attr(not(debug_assertions), inline(always))]
pub fn transfer(
    from: Account,
    to: Account,
) -> impl Future<
    Output = Result<Receipt, AppError>,
> + deadline::Budgeted<Budget = deadline::Millis<1000>> {
    deadline::__same_version! {
        "0.1.0"
    }
    use rt::{HandsOut as _, Settle as _};
    let call_0 = rt::call(0);
    let call_1 = rt::call(0);
    rt::Scoped::ending(
        const {
            &rt::Spec::<deadline::Millis<1000>>::new("transfer").reserve(100).cleanup(50)
        }
            .here(),
        async move {
            let from = from;
            let to = to;
            if false {
                return rt::returns::<Result<Receipt, AppError>>();
            }
            {
                let booked = match rt::At(
                        rt::guard(rt::counted(call_0, book(from, to))).await,
                    )
                    .deadline_settle()
                {
                    Ok(value) => value,
                    Err(stopped) => {
                        return rt::stop::<Result<Receipt, AppError>>(stopped);
                    }
                }?;
                Ok(
                    match rt::At(rt::guard(rt::counted(call_1, booked.receipt())).await)
                        .deadline_settle()
                    {
                        Ok(value) => value,
                        Err(stopped) => {
                            return rt::stop::<Result<Receipt, AppError>>(stopped);
                        }
                    },
                )
            }
        },
        {
            {
                struct Calls;
                impl<D: rt::Declares> rt::Fits<D> for Calls {
                    const BUDGET: rt::Fit<D> = rt::Limits::of("transfer", 1000)
                        .reserve(100)
                        .cleanup(50)
                        .hold("then(0 book, 1 booked.receipt)");
                }
                let <Calls as rt::Fits<_>>::BUDGET = rt::calls((call_0, call_1));
            }
            rt::Holds::<Result<Receipt, AppError>>::new()
                .deadline_carry(|stopped| rt::stop::<Result<Receipt, AppError>>(stopped))
        },
    )
}
