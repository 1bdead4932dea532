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
    let call_0 = rt::call(0, 0);
    let call_1 = rt::call(0, 0);
    let future = rt::Scoped::ending(
        const {
            &rt::Spec::<deadline::Millis<1000>>::new("transfer").reserve(100).cleanup(50)
        }
            .here(),
        async move {
            use rt::Settle as _;
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
            use rt::HandsOut as _;
            rt::Holds::<Result<Receipt, AppError>>::new()
                .deadline_carry(|stopped| rt::stop::<Result<Receipt, AppError>>(stopped))
        },
    );
    {
        struct Calls;
        impl<D: rt::Declares> rt::Fits<D> for Calls {
            const BUDGET: rt::Fit<D> = rt::Limits::of("transfer", 1000)
                .reserve(100)
                .cleanup(50)
                .hold(
                    &rt::Step::Then(
                        &[rt::Step::Call(0, "book"), rt::Step::Call(1, "booked.receipt")],
                    ),
                );
        }
        match rt::calls((call_0, call_1)) {
            <Calls as rt::Fits<_>>::BUDGET => future,
        }
    }
}
