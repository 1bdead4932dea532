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
    rt::Scoped::under(
        rt::Parent::of(&cx),
        const { &rt::Spec::<_>::new("job") },
        async move {
            use rt::Leaf as _;
            #[allow(unused_variables)]
            let cx = &deadline::Context::current();
            let job = job;
            if false {
                return rt::returns::<Result<(), AppError>>();
            }
            rt::At(job.run(cx)).deadline_gate().await
        },
    )
}
