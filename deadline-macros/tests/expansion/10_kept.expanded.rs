async fn refresh(&self, force: bool) -> Result<(), AppError> {
    deadline::__same_version! {
        "0.1.0"
    }
    rt::Scoped::ending(
            const { &rt::Spec::<deadline::Percent<40>>::new("refresh") },
            async move {
                use rt::Leaf as _;
                let force = force;
                if false {
                    return rt::returns::<Result<(), AppError>>();
                }
                rt::At(self.cache(force)).deadline_gate().await
            },
            {
                use rt::HandsOut as _;
                rt::Holds::<Result<(), AppError>>::new()
                    .deadline_carry(|stopped| rt::stop::<Result<(), AppError>>(stopped))
            },
        )
        .await
}
