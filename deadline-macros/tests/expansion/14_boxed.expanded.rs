#[cfg_attr(not(debug_assertions), inline(always))]
pub fn walk(
    tree: &Tree,
) -> impl Future<
    Output = Result<u64, AppError>,
> + deadline::Budgeted<Budget = deadline::Millis<1000>> {
    deadline::__same_version! {
        "0.1.0"
    }
    let call_0 = rt::call(0, 0);
    let future = rt::Scoped::ending(
        const { &rt::Spec::<deadline::Millis<1000>>::new("walk") }.here(),
        ::std::boxed::Box::pin(async move {
            let tree = tree;
            if false {
                return rt::returns::<Result<u64, AppError>>();
            }
            rt::gate(call_0, tree.visit(), &call_0).await
        })
            as ::core::pin::Pin<
                ::std::boxed::Box<
                    dyn Future<
                        Output = Result<u64, AppError>,
                    > + ::core::marker::Send + '_,
                >,
            >,
        {
            use rt::HandsOut as _;
            rt::Holds::<Result<u64, AppError>>::new()
                .deadline_carry(|stopped| rt::stop::<Result<u64, AppError>>(stopped))
        },
    );
    {
        struct Calls;
        impl<D: rt::Declares> rt::Fits<D> for Calls {
            const BUDGET: rt::Fit<D> = rt::Limits::of("walk", 1000)
                .hold(&rt::Step::Call(0, "tree.visit"));
        }
        match rt::calls((call_0,)) {
            <Calls as rt::Fits<_>>::BUDGET => future,
        }
    }
}
