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
        use rt::{Gates as _, HandsOut as _};
        let call_0 = rt::call(0);
        let call_1 = rt::call(0);
        rt::Scoped::ending(
            const { &rt::Spec::<deadline::Millis<2000>>::new("close") }.here(),
            async move {
                let _ = &self;
                let reason = reason;
                if false {
                    return rt::returns::<Result<(), AppError>>();
                }
                {
                    rt::At(self.flush()).__deadline_gate(call_0).await?;
                    rt::At(self.send(reason)).__deadline_gate(call_1).await
                }
            },
            {
                {
                    struct Calls;
                    impl<D: rt::Declares> rt::Fits<D> for Calls {
                        const BUDGET: rt::Fit<D> = rt::Limits::of("close", 2000)
                            .hold("then(0 self.flush, 1 self.send)");
                    }
                    let <Calls as rt::Fits<_>>::BUDGET = rt::calls((call_0, call_1));
                }
                rt::Holds::<Result<(), AppError>>::new()
                    .deadline_carry(|stopped| rt::stop::<Result<(), AppError>>(stopped))
            },
        )
    }
}
