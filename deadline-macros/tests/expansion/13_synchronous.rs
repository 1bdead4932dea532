#[checkpoint]
pub fn total(rows: &[Row]) -> Result<u64, AppError> {
    let mut total = 0;
    for row in rows {
        total += row.amount()?;
    }
    Ok(total)
}
