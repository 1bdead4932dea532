pub fn total(rows: &[Row]) -> Result<u64, AppError> {
    deadline::__same_version! {
        "0.1.0"
    }
    let mut total = 0;
    {
        let mut pace = rt::Pace::new();
        for row in rows {
            if let Some(stopped) = pace.checkpoint() {
                return rt::stop::<Result<u64, AppError>>(stopped);
            }
            total += row.amount()?;
        }
    }
    Ok(total)
}
