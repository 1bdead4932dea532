//! [`Sink`]: what becomes of the rows of a statement.

use sqlx::Either;
use sqlx::postgres::{PgQueryResult, PgRow};

use crate::data::rows::Out;

/// Where the rows of a statement go.
pub(super) enum Sink<'a> {
    Stream(Out<Either<PgQueryResult, PgRow>>),
    First(&'a mut Option<PgRow>),
    Nowhere,
}

impl Sink<'_> {
    pub(super) async fn put(&mut self, item: Either<PgQueryResult, PgRow>) {
        match self {
            Self::Stream(out) => out.put(item).await,
            Self::First(first) => {
                if let (Either::Right(row), None) = (item, first.as_ref()) {
                    **first = Some(row);
                }
            }
            Self::Nowhere => {}
        }
    }
}
