async fn refresh(&self, force: bool) -> Result<(), AppError> {
    deadline::__same_version! {
        "0.1.0"
    }
    use rt::{Gates as _, HandsOut as _};
    rt::Scoped::ending(
            const { &rt::Spec::<deadline::Percent<40>>::new("refresh") }.here(),
            async move {
                let force = force;
                if false {
                    return rt::returns::<Result<(), AppError>>();
                }
                rt::At(self.cache(force)).__deadline_gate_alone().await
            },
            rt::Holds::<Result<(), AppError>>::new()
                .deadline_carry(|stopped| rt::stop::<Result<(), AppError>>(stopped)),
        )
        .await
}
