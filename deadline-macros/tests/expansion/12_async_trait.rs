#[deadline(budget = "450ms")]
fn find<'life0, 'async_trait>(
    &'life0 self,
    user: UserId,
) -> Pin<Box<dyn Future<Output = Result<Profile, AppError>> + Send + 'async_trait>>
where
    'life0: 'async_trait,
{
    Box::pin(async move {
        if let Some(__ret) = None::<Result<Profile, AppError>> {
            return __ret;
        }
        let __self = self;
        let user = user;
        let __ret: Result<Profile, AppError> = { __self.rows().find(user).await };
        __ret
    })
}
