/// The profile of a user.
///
/// *Deadline:* budget 450ms, reserve 50ms, min 20ms.
pub fn load_profile(
    user: UserId,
) -> impl Future<
    Output = Result<Profile, AppError>,
> + deadline::Budgeted<Budget = deadline::Millis<450>> {
    deadline::__same_version! {
        "0.1.0"
    }
    rt::Scoped::carrying(
        const {
            &rt::Spec::<deadline::Millis<450>>::new("load_profile").reserve(50).min(20)
        },
        async move {
            use rt::Leaf as _;
            let user = user;
            if false {
                return rt::returns::<Result<Profile, AppError>>();
            }
            {
                let row = rt::At(profiles().find(user)).deadline_gate().await?;
                Ok(Profile::from(row))
            }
        },
        |stopped| rt::stop::<Result<Profile, AppError>>(stopped),
    )
}
