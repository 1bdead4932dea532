impl Client {
    #[deadline(budget = "2s")]
    async fn close(mut self, reason: &str) -> Result<(), AppError> {
        self.flush().await?;
        self.send(reason).await
    }
}
