//! What every Postgres driver needs: the texts that are sent, the name a transaction goes by, the codes that come back.

mod answers;
mod code;
mod sql;
mod tag;

pub(crate) use self::answers::{Answers, Refusal};
pub(crate) use self::code::{ends_by_limit_or_cancel, is_serialization_failure};
pub(crate) use self::sql::{
    Begin, Ceilings, Limits, cancel, commit, refresh, release, resolve, roll_back, roll_back_to,
    savepoint, seal, terminate,
};
pub(crate) use self::tag::Tag;
