#[cfg_attr(not(debug_assertions), inline(always))]
pub fn run(
    cx: &Context,
    job: Job,
) -> impl Future<
    Output = Result<(), AppError>,
> + deadline::Budgeted<
    Budget = deadline::Millis<{ rt::Constant(crate::budgets::JOB).whole_millis() }>,
> {
    deadline::__same_version! {
        "0.1.0"
    }
    let call_0 = rt::call(0, 0);
    let future = rt::Scoped::ending(
        const { &rt::Spec::<_>::new("job") }.under(&cx),
        async move {
            #[allow(unused_variables)]
            let cx = &deadline::Context::current();
            let job = job;
            if false {
                return rt::returns::<Result<(), AppError>>();
            }
            rt::gate(call_0, job.run(cx), &call_0).await
        },
        {
            use rt::HandsOut as _;
            rt::Holds::<Result<(), AppError>>::new()
                .deadline_carry(|stopped| rt::stop::<Result<(), AppError>>(stopped))
        },
    );
    {
        struct Calls;
        impl<D: rt::Declares> rt::Fits<D> for Calls {
            const BUDGET: rt::Fit<D> = rt::Limits::of(
                    "job",
                    rt::Constant(crate::budgets::JOB).whole_millis(),
                )
                .hold(&rt::Step::Call(0, "job.run"));
        }
        match rt::calls((call_0,)) {
            <Calls as rt::Fits<_>>::BUDGET => future,
        }
    }
}
