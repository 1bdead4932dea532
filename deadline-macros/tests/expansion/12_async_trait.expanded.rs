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
        let call_0 = rt::call(0, 0);
        let future = rt::Scoped::ending(
            const { &rt::Spec::<deadline::Millis<450>>::new("find") }.here(),
            async move {
                if let Some(__ret) = None::<Result<Profile, AppError>> {
                    return __ret;
                }
                let __self = self;
                let user = user;
                let __ret: Result<Profile, AppError> = {
                    rt::gate(call_0, __self.rows().find(user), &call_0).await
                };
                __ret
            },
            {
                use rt::HandsOut as _;
                rt::Holds::<Result<Profile, AppError>>::new()
                    .deadline_carry(|stopped| rt::stop::<
                        Result<Profile, AppError>,
                    >(stopped))
            },
        );
        {
            struct Calls;
            impl<D: rt::Declares> rt::Fits<D> for Calls {
                const BUDGET: rt::Fit<D> = rt::Limits::of("find", 450)
                    .hold(&rt::Step::Call(0, "__self.rows.find"));
            }
            match rt::calls((call_0,)) {
                <Calls as rt::Fits<_>>::BUDGET => future,
            }
        }
    })
}
