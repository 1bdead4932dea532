impl Client {
    #[allow(refining_impl_trait)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn close(
        mut self,
        reason: &str,
    ) -> impl Future<
        Output = Result<(), AppError>,
    > + deadline::Budgeted<Budget = deadline::Millis<2000>> {
        deadline::__same_version! {
            "0.1.0"
        }
        let call_0 = rt::call(0, 0);
        let call_1 = rt::call(0, 0);
        let future = rt::Scoped::ending(
            const { &rt::Spec::<deadline::Millis<2000>>::new("close") }.here(),
            async move {
                let _ = &self;
                let reason = reason;
                if false {
                    return rt::returns::<Result<(), AppError>>();
                }
                {
                    rt::gate(call_0, self.flush(), &call_0).await?;
                    rt::gate(call_1, self.send(reason), &call_1).await
                }
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
                const BUDGET: rt::Fit<D> = rt::Limits::of("close", 2000)
                    .hold(
                        &rt::Step::Then(
                            &[
                                rt::Step::Call(0, "self.flush"),
                                rt::Step::Call(1, "self.send"),
                            ],
                        ),
                    );
            }
            match rt::calls((call_0, call_1)) {
                <Calls as rt::Fits<_>>::BUDGET => future,
            }
        }
    }
}
