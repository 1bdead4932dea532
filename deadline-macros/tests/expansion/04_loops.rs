#[deadline(budget = "5s")]
pub async fn import(pages: Vec<Page>) -> Result<u64, AppError> {
    let mut rows = 0;
    for page in pages {
        rows += store(page).await?;
    }
    #[checkpoint(off)]
    while rows % 2 == 1 {
        rows -= 1;
    }
    Ok(rows)
}
