async fn refresh(&self, force: bool) -> Result<(), AppError> {
    deadline::__same_version! {
        "0.1.0"
    }
    rt::Scoped::ending(
            const { &rt::Spec::<deadline::Percent<40>>::new("refresh") }.here(),
            async move {
                let _await_0 = rt::uncounted(0);
                let force = force;
                if false {
                    return rt::returns::<Result<(), AppError>>();
                }
                rt::gate(_await_0, self.cache(force), &_await_0).await
            },
            {
                use rt::HandsOut as _;
                rt::Holds::<Result<(), AppError>>::new()
                    .deadline_carry(|stopped| rt::stop::<Result<(), AppError>>(stopped))
            },
        )
        .await
}
