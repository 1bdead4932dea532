#[cfg_attr(not(debug_assertions), inline(always))]
pub fn import(
    pages: Vec<Page>,
) -> impl Future<
    Output = Result<u64, AppError>,
> + deadline::Budgeted<Budget = deadline::Millis<5000>> {
    deadline::__same_version! {
        "0.1.0"
    }
    use rt::{Gates as _, HandsOut as _};
    let call_0 = rt::call(0);
    rt::Scoped::ending(
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
                        rows += rt::At(store(page)).__deadline_gate(call_0).await?;
                    }
                }
                while rows % 2 == 1 {
                    rows -= 1;
                }
                Ok(rows)
            }
        },
        {
            {
                struct Calls;
                impl<D: rt::Declares> rt::Fits<D> for Calls {
                    const BUDGET: rt::Fit<D> = rt::Limits::of("import", 5000)
                        .hold("loop(0 store)");
                }
                let <Calls as rt::Fits<_>>::BUDGET = rt::calls((call_0,));
            }
            rt::Holds::<Result<u64, AppError>>::new()
                .deadline_carry(|stopped| rt::stop::<Result<u64, AppError>>(stopped))
        },
    )
}
