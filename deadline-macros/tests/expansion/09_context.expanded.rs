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
    use rt::{Gates as _, HandsOut as _};
    let call_0 = rt::call(0);
    rt::Scoped::ending(
        const { &rt::Spec::<_>::new("job") }.under(&cx),
        async move {
            #[allow(unused_variables)]
            let cx = &deadline::Context::current();
            let job = job;
            if false {
                return rt::returns::<Result<(), AppError>>();
            }
            rt::At(job.run(cx)).__deadline_gate(call_0).await
        },
        {
            {
                struct Calls;
                impl<D: rt::Declares> rt::Fits<D> for Calls {
                    const BUDGET: rt::Fit<D> = rt::Limits::of(
                            "job",
                            rt::Constant(crate::budgets::JOB).whole_millis(),
                        )
                        .hold("0 job.run");
                }
                let <Calls as rt::Fits<_>>::BUDGET = rt::calls((call_0,));
            }
            rt::Holds::<Result<(), AppError>>::new()
                .deadline_carry(|stopped| rt::stop::<Result<(), AppError>>(stopped))
        },
    )
}
