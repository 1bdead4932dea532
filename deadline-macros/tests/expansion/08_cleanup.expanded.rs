pub fn transfer(
    from: Account,
    to: Account,
) -> impl Future<
    Output = Result<Receipt, AppError>,
> + deadline::Budgeted<Budget = deadline::Millis<1000>> {
    deadline::__same_version! {
        "0.1.0"
    }
    rt::Scoped::carrying(
        const {
            &rt::Spec::<deadline::Millis<1000>>::new("transfer").reserve(100).cleanup(50)
        },
        async move {
            let from = from;
            let to = to;
            if false {
                return rt::returns::<Result<Receipt, AppError>>();
            }
            {
                let booked = match rt::guard(book(from, to)).await {
                    Ok(value) => value,
                    Err(stopped) => {
                        return rt::stop::<Result<Receipt, AppError>>(stopped);
                    }
                }?;
                Ok(
                    match rt::guard(booked.receipt()).await {
                        Ok(value) => value,
                        Err(stopped) => {
                            return rt::stop::<Result<Receipt, AppError>>(stopped);
                        }
                    },
                )
            }
        },
        |stopped| rt::stop::<Result<Receipt, AppError>>(stopped),
    )
}
