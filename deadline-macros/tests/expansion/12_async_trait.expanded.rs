fn find<'life0, 'async_trait>(
    &'life0 self,
    user: UserId,
) -> Pin<Box<dyn Future<Output = Result<Profile, AppError>> + Send + 'async_trait>>
where
    'life0: 'async_trait,
{
    deadline::__same_version! {
        "0.1.0"
    }
    Box::pin({
        use rt::{Gates as _, HandsOut as _};
        let call_0 = rt::call(0);
        rt::Scoped::ending(
            const { &rt::Spec::<deadline::Millis<450>>::new("find") }.here(),
            async move {
                if let Some(__ret) = None::<Result<Profile, AppError>> {
                    return __ret;
                }
                let __self = self;
                let user = user;
                let __ret: Result<Profile, AppError> = {
                    rt::At(__self.rows().find(user)).__deadline_gate(call_0).await
                };
                __ret
            },
            {
                {
                    struct Calls;
                    impl<D: rt::Declares> rt::Fits<D> for Calls {
                        const BUDGET: rt::Fit<D> = rt::Limits::of("find", 450)
                            .hold("0 __self.rows.find");
                    }
                    let <Calls as rt::Fits<_>>::BUDGET = rt::calls((call_0,));
                }
                rt::Holds::<Result<Profile, AppError>>::new()
                    .deadline_carry(|stopped| rt::stop::<
                        Result<Profile, AppError>,
                    >(stopped))
            },
        )
    })
}
