#[deadline(budget = crate::budgets::JOB, parent = cx, name = "job")]
pub async fn run(cx: &Context, job: Job) -> Result<(), AppError> {
    job.run(cx).await
}
