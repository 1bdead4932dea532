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
    use rt::{Gates as _, HandsOut as _};
    let call_0 = rt::call(0);
    rt::Scoped::ending(
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
                let row = rt::At(profiles().find(user)).__deadline_gate(call_0).await?;
                Ok(Profile::from(row))
            }
        },
        {
            {
                struct Calls;
                impl<D: rt::Declares> rt::Fits<D> for Calls {
                    const BUDGET: rt::Fit<D> = rt::Limits::of("load_profile", 450)
                        .reserve(50)
                        .hold("0 profiles.find");
                }
                let <Calls as rt::Fits<_>>::BUDGET = rt::calls((call_0,));
            }
            rt::Holds::<Result<Profile, AppError>>::new()
                .deadline_carry(|stopped| rt::stop::<Result<Profile, AppError>>(stopped))
        },
    )
}
