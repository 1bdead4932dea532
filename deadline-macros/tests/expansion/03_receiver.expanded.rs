impl Client {
    #[allow(refining_impl_trait)]
    fn close(
        mut self,
        reason: &str,
    ) -> impl Future<
        Output = Result<(), AppError>,
    > + deadline::Budgeted<Budget = deadline::Millis<2000>> {
        deadline::__same_version! {
            "0.1.0"
        }
        rt::Scoped::carrying(
            const { &rt::Spec::<deadline::Millis<2000>>::new("close") },
            async move {
                use rt::Leaf as _;
                let _ = &self;
                let reason = reason;
                if false {
                    return rt::returns::<Result<(), AppError>>();
                }
                {
                    rt::At(self.flush()).deadline_gate().await?;
                    rt::At(self.send(reason)).deadline_gate().await
                }
            },
            |stopped| rt::stop::<Result<(), AppError>>(stopped),
        )
    }
}
