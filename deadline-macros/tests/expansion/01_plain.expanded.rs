/// The profile of a user.
///
/// *Deadline:* budget 450ms, reserve 50ms, min 20ms.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn load_profile(
    user: UserId,
) -> impl Future<
    Output = Result<Profile, AppError>,
> + deadline::Budgeted<Budget = deadline::Millis<450>> {
    deadline::__same_version! {
        "0.1.0"
    }
    let call_0 = rt::call(0, 0);
    let future = rt::Scoped::ending(
        const {
            &rt::Spec::<deadline::Millis<450>>::new("load_profile").reserve(50).min(20)
        }
            .here(),
        async move {
            let user = user;
            if false {
                return rt::returns::<Result<Profile, AppError>>();
            }
            {
                let row = rt::gate(call_0, profiles().find(user), &call_0).await?;
                Ok(Profile::from(row))
            }
        },
        {
            use rt::HandsOut as _;
            rt::Holds::<Result<Profile, AppError>>::new()
                .deadline_carry(|stopped| rt::stop::<Result<Profile, AppError>>(stopped))
        },
    );
    {
        struct Calls;
        impl<D: rt::Declares> rt::Fits<D> for Calls {
            const BUDGET: rt::Fit<D> = rt::Limits::of("load_profile", 450)
                .reserve(50)
                .hold(&rt::Step::Call(0, "profiles.find"));
        }
        match rt::calls((call_0,)) {
            <Calls as rt::Fits<_>>::BUDGET => future,
        }
    }
}
