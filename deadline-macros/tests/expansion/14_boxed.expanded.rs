#[cfg_attr(not(debug_assertions), inline(always))]
pub fn walk(
    tree: &Tree,
) -> impl Future<
    Output = Result<u64, AppError>,
> + deadline::Budgeted<Budget = deadline::Millis<1000>> {
    deadline::__same_version! {
        "0.1.0"
    }
    use rt::{Gates as _, HandsOut as _};
    let call_0 = rt::call(0);
    rt::Scoped::ending(
        const { &rt::Spec::<deadline::Millis<1000>>::new("walk") }.here(),
        ::std::boxed::Box::pin(async move {
            let tree = tree;
            if false {
                return rt::returns::<Result<u64, AppError>>();
            }
            rt::At(tree.visit()).__deadline_gate(call_0).await
        })
            as ::core::pin::Pin<
                ::std::boxed::Box<
                    dyn Future<
                        Output = Result<u64, AppError>,
                    > + ::core::marker::Send + '_,
                >,
            >,
        {
            {
                struct Calls;
                impl<D: rt::Declares> rt::Fits<D> for Calls {
                    const BUDGET: rt::Fit<D> = rt::Limits::of("walk", 1000)
                        .hold("0 tree.visit");
                }
                let <Calls as rt::Fits<_>>::BUDGET = rt::calls((call_0,));
            }
            rt::Holds::<Result<u64, AppError>>::new()
                .deadline_carry(|stopped| rt::stop::<Result<u64, AppError>>(stopped))
        },
    )
}
