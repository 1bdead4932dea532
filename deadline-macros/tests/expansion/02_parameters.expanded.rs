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
    let call_0 = rt::call(0, 0);
    let call_1 = rt::call(0, 0);
    let future = rt::Scoped::ending(
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
                into.extend(rt::gate(call_0, rows(left), &call_0).await?);
                into.extend(rt::gate(call_1, rows(right), &call_1).await?);
                Ok(into)
            }
        },
        {
            use rt::HandsOut as _;
            rt::Holds::<Result<Vec<Row>, AppError>>::new()
                .deadline_carry(|stopped| rt::stop::<
                    Result<Vec<Row>, AppError>,
                >(stopped))
        },
    );
    {
        struct Calls;
        impl<D: rt::Declares> rt::Fits<D> for Calls {
            const BUDGET: rt::Fit<D> = rt::Limits::of("merge", 1000)
                .hold(
                    &rt::Step::Then(
                        &[rt::Step::Call(0, "rows"), rt::Step::Call(1, "rows")],
                    ),
                );
        }
        match rt::calls((call_0, call_1)) {
            <Calls as rt::Fits<_>>::BUDGET => future,
        }
    }
}
