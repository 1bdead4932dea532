// An existing repository over sqlx. Included twice: once with sqlx's own pool and transaction, once with ours. Nothing else
// differs, so what compiles here compiles in an application that changes these two types.
//
// `.sqlx` beside the manifest holds what `query!` knows of the schema; see `prepare_queries` for how to renew it.

#[derive(Debug, PartialEq, sqlx::FromRow)]
pub struct Account {
    pub id: i64,
    pub owner: String,
    pub cents: i64,
}

#[derive(Debug, Clone)]
pub struct Accounts {
    pool: Pool,
}

/// As services have it: everything the database says goes through one conversion.
#[derive(Debug)]
pub enum AppError {
    NotEnough,
    Database(#[allow(dead_code)] sqlx::Error),
}

impl From<sqlx::Error> for AppError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl Accounts {
    pub const fn new(pool: Pool) -> Self {
        Self { pool }
    }

    pub async fn open(&self, owner: &str, cents: i64) -> Result<i64, sqlx::Error> {
        let row = sqlx::query!("INSERT INTO accounts (owner, cents) VALUES ($1, $2) RETURNING id", owner, cents)
            .fetch_one(&self.pool)
            .await?;
        Ok(row.id)
    }

    pub async fn get(&self, id: i64) -> Result<Option<Account>, sqlx::Error> {
        sqlx::query_as!(Account, "SELECT id, owner, cents FROM accounts WHERE id = $1", id)
            .fetch_optional(&self.pool)
            .await
    }

    pub async fn all(&self) -> Result<Vec<Account>, sqlx::Error> {
        sqlx::query_as::<_, Account>("SELECT id, owner, cents FROM accounts ORDER BY id").fetch_all(&self.pool).await
    }

    pub async fn total(&self) -> Result<i64, sqlx::Error> {
        let mut cents = sqlx::query_scalar!("SELECT cents FROM accounts").fetch(&self.pool);
        let mut total = 0;
        while let Some(cents) = futures::TryStreamExt::try_next(&mut cents).await? {
            total += cents;
        }
        Ok(total)
    }

    pub async fn transfer(&self, from: i64, to: i64, cents: i64) -> Result<(), AppError> {
        let mut tx = self.pool.begin().await?;
        let left = sqlx::query_scalar!(
            "UPDATE accounts SET cents = cents - $2 WHERE id = $1 RETURNING cents",
            from,
            cents
        )
        .fetch_one(&mut *tx)
        .await?;
        if left < 0 {
            return Err(AppError::NotEnough);
        }
        credit(&mut tx, to, cents).await?;
        note(&mut *tx, "transfer").await?;
        tx.commit().await?;
        Ok(())
    }

    pub async fn try_note(&self, text: &str) -> Result<(), sqlx::Error> {
        let mut tx = self.pool.begin().await?;
        {
            let mut part = tx.begin().await?;
            note(&mut *part, text).await?;
            note(part.as_mut(), text).await?;
            part.rollback().await?;
        }
        note(&mut *tx, text).await?;
        tx.commit().await
    }

    pub async fn forget(&self) -> Result<(), sqlx::Error> {
        let mut tx = self.pool.begin().await?;
        sqlx::query!("DELETE FROM notes").execute(&mut *tx).await?;
        tx.rollback().await
    }

    pub async fn insert_many(&self, owners: &[&str]) -> Result<u64, sqlx::Error> {
        let mut query = sqlx::QueryBuilder::new("INSERT INTO accounts (owner, cents) ");
        query.push_values(owners, |mut row, owner| {
            row.push_bind(*owner).push_bind(0_i64);
        });
        Ok(query.build().execute(&self.pool).await?.rows_affected())
    }
}

async fn credit(tx: &mut Transaction<'_>, to: i64, cents: i64) -> Result<(), sqlx::Error> {
    sqlx::query!("UPDATE accounts SET cents = cents + $2 WHERE id = $1", to, cents).execute(&mut **tx).await?;
    Ok(())
}

/// Whatever executes.
async fn note<'e>(executor: impl sqlx::PgExecutor<'e>, text: &str) -> Result<(), sqlx::Error> {
    sqlx::query!("INSERT INTO notes (text) VALUES ($1)", text).execute(executor).await?;
    Ok(())
}
