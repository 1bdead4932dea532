#[allow(refining_impl_trait)]
#[cfg_attr(not(debug_assertions), inline(always))]
fn merge(
    arg0: (Page, Page),
    into: Vec<Row>,
    _hint: u8,
    _arg3: bool,
) -> impl Future<
    Output = Result<Vec<Row>, AppError>,
> + deadline::Budgeted<Budget = deadline::Millis<1000>> {
    deadline::__same_version! {
        "0.1.0"
    }
    use rt::{Gates as _, HandsOut as _};
    let call_0 = rt::call(0);
    let call_1 = rt::call(0);
    rt::Scoped::ending(
        const { &rt::Spec::<deadline::Millis<1000>>::new("merge") }.here(),
        async move {
            let arg0 = arg0;
            let (left, right) = arg0;
            let mut into = into;
            #[allow(
                clippy::no_effect_underscore_binding,
                clippy::used_underscore_binding
            )]
            let _hint = _hint;
            let _arg3 = _arg3;
            if false {
                return rt::returns::<Result<Vec<Row>, AppError>>();
            }
            {
                into.extend(rt::At(rows(left)).__deadline_gate(call_0).await?);
                into.extend(rt::At(rows(right)).__deadline_gate(call_1).await?);
                Ok(into)
            }
        },
        {
            {
                struct Calls;
                impl<D: rt::Declares> rt::Fits<D> for Calls {
                    const BUDGET: rt::Fit<D> = rt::Limits::of("merge", 1000)
                        .hold("then(0 rows, 1 rows)");
                }
                let <Calls as rt::Fits<_>>::BUDGET = rt::calls((call_0, call_1));
            }
            rt::Holds::<Result<Vec<Row>, AppError>>::new()
                .deadline_carry(|stopped| rt::stop::<
                    Result<Vec<Row>, AppError>,
                >(stopped))
        },
    )
}
