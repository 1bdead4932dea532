pub fn total(rows: &[Row]) -> Result<u64, AppError> {
    deadline::__same_version! {
        "0.1.0"
    }
    let mut total = 0;
    for row in rows {
        if let Some(stopped) = rt::checkpoint() {
            return rt::stop::<Result<u64, AppError>>(stopped);
        }
        total += row.amount()?;
    }
    Ok(total)
}
