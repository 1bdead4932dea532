#[cfg_attr(not(debug_assertions), inline(always))]
pub fn import(
    pages: Vec<Page>,
) -> impl Future<
    Output = Result<u64, AppError>,
> + deadline::Budgeted<Budget = deadline::Millis<5000>> {
    deadline::__same_version! {
        "0.1.0"
    }
    let call_0 = rt::call(0, 0);
    let future = rt::Scoped::ending(
        const { &rt::Spec::<deadline::Millis<5000>>::new("import") }.here(),
        async move {
            let pages = pages;
            if false {
                return rt::returns::<Result<u64, AppError>>();
            }
            {
                let mut rows = 0;
                {
                    let mut pace = rt::Pace::new();
                    for page in pages {
                        if let Some(stopped) = pace.checkpoint() {
                            return rt::stop::<Result<u64, AppError>>(stopped);
                        }
                        rows += rt::gate(call_0, store(page), &call_0).await?;
                    }
                }
                while rows % 2 == 1 {
                    rows -= 1;
                }
                Ok(rows)
            }
        },
        {
            use rt::HandsOut as _;
            rt::Holds::<Result<u64, AppError>>::new()
                .deadline_carry(|stopped| rt::stop::<Result<u64, AppError>>(stopped))
        },
    );
    {
        struct Calls;
        impl<D: rt::Declares> rt::Fits<D> for Calls {
            const BUDGET: rt::Fit<D> = rt::Limits::of("import", 5000)
                .hold(&rt::Step::Loop(&rt::Step::Call(0, "store")));
        }
        match rt::calls((call_0,)) {
            <Calls as rt::Fits<_>>::BUDGET => future,
        }
    }
}
