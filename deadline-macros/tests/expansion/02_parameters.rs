#[deadline(budget = "1s")]
async fn merge((left, right): (Page, Page), mut into: Vec<Row>, _hint: u8, _: bool) -> Result<Vec<Row>, AppError> {
    into.extend(rows(left).await?);
    into.extend(rows(right).await?);
    Ok(into)
}
