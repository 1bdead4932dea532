#[deadline(budget = "40%", keep_async)]
async fn refresh(&self, force: bool) -> Result<(), AppError> {
    self.cache(force).await
}
