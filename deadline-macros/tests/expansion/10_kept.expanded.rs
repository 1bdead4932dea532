async fn refresh(&self, force: bool) -> Result<(), AppError> {
    deadline::__same_version! {
        "0.1.0"
    }
    rt::Scoped::carrying(
            const { &rt::Spec::<deadline::Percent<40>>::new("refresh") },
            async move {
                use rt::Leaf as _;
                let force = force;
                if false {
                    return rt::returns::<Result<(), AppError>>();
                }
                rt::At(self.cache(force)).deadline_gate().await
            },
            |stopped| rt::stop::<Result<(), AppError>>(stopped),
        )
        .await
}
