#[deadline(budget = "1s", boxed = "send")]
pub async fn walk(tree: &Tree) -> Result<u64, AppError> {
    tree.visit().await
}
