//! [`Branches`]: tuples of branches of different types.

use std::future::Future;

use super::branch::{Branch, Counts, Kind};
use super::lanes::{Chain, End, Lanes};
use crate::fits::Longest;

/// What [`fan_out`](super::fan_out) takes: a tuple of one to twelve branches.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of branches",
    label = "not a tuple of branches",
    note = "write `fan_out((required(\"name\", future), optional(\"name\", future)))`: one to twelve branches in a tuple, `(branch,)` for one",
    note = "the future of each branch yields a `Result`; required ones all have one error type, with `From<deadline_runtime::Stopped>`",
    note = "for a list of futures of one type use `fan_out_all`"
)]
pub trait Branches {
    #[doc(hidden)]
    type Lanes: Lanes;
    /// The tuple of their values.
    type Values;
    #[doc(hidden)]
    fn into_lanes(self) -> Self::Lanes;
    #[doc(hidden)]
    fn values(values: <Self::Lanes as Lanes>::Values) -> Self::Values;
}

// Input:  a A F N V E, b B G O W X
// Output: `(Branch<F, N>, Branch<G, O>)` becomes `Chain<F, …, Chain<G, …, End>>`, its values a flat tuple.
macro_rules! tuple {
    ($($name:ident $future:ident $need:ident $value:ident $error:ident $cap:ident),+) => {
        impl<$($future, $need, $value, $error, $cap),+> Branches for ($(Branch<$future, $need, $cap>,)+)
        where
            $($future: Future<Output = Result<$value, $error>>, $need: Kind<$value, $error>,)+
            chain!(type $($future $need $value $error),+): Lanes<Values = chain!(values $($need $value $error),+)>,
        {
            type Lanes = chain!(type $($future $need $value $error),+);
            type Values = ($($need::Value,)+);

            fn into_lanes(self) -> Self::Lanes {
                let ($($name,)+) = self;
                chain!(new $($name),+)
            }

            fn values(values: <Self::Lanes as Lanes>::Values) -> Self::Values {
                let chain!(pattern $($name),+) = values;
                ($($name,)+)
            }
        }

        impl<$($future, $need, $cap),+> Counts for ($(Branch<$future, $need, $cap>,)+)
        where
            $(Branch<$future, $need, $cap>: Counts,)+
        {
            type Figure = Longest<($(<Branch<$future, $need, $cap> as Counts>::Figure,)+)>;
        }
    };
}

macro_rules! chain {
    (type $future:ident $need:ident $value:ident $error:ident $(, $($rest:tt)+)?) => {
        Chain<$future, $need, <$need as Kind<$value, $error>>::Value, chain!(type $($($rest)+)?)>
    };
    (type) => { End };
    (values $need:ident $value:ident $error:ident $(, $($rest:tt)+)?) => {
        (<$need as Kind<$value, $error>>::Value, chain!(values $($($rest)+)?))
    };
    (values) => { () };
    (new $name:ident $(, $($rest:tt)+)?) => { Chain::new($name, chain!(new $($($rest)+)?)) };
    (new) => { End };
    (pattern $name:ident $(, $($rest:tt)+)?) => { ($name, chain!(pattern $($($rest)+)?)) };
    (pattern) => { () };
}

tuple!(a F1 N1 V1 E1 C1);
tuple!(a F1 N1 V1 E1 C1, b F2 N2 V2 E2 C2);
tuple!(a F1 N1 V1 E1 C1, b F2 N2 V2 E2 C2, c F3 N3 V3 E3 C3);
tuple!(a F1 N1 V1 E1 C1, b F2 N2 V2 E2 C2, c F3 N3 V3 E3 C3, d F4 N4 V4 E4 C4);
tuple!(a F1 N1 V1 E1 C1, b F2 N2 V2 E2 C2, c F3 N3 V3 E3 C3, d F4 N4 V4 E4 C4, e F5 N5 V5 E5 C5);
tuple!(a F1 N1 V1 E1 C1, b F2 N2 V2 E2 C2, c F3 N3 V3 E3 C3, d F4 N4 V4 E4 C4, e F5 N5 V5 E5 C5, f F6 N6 V6 E6 C6);
tuple!(a F1 N1 V1 E1 C1, b F2 N2 V2 E2 C2, c F3 N3 V3 E3 C3, d F4 N4 V4 E4 C4, e F5 N5 V5 E5 C5, f F6 N6 V6 E6 C6, g F7 N7 V7 E7 C7);
tuple!(a F1 N1 V1 E1 C1, b F2 N2 V2 E2 C2, c F3 N3 V3 E3 C3, d F4 N4 V4 E4 C4, e F5 N5 V5 E5 C5, f F6 N6 V6 E6 C6, g F7 N7 V7 E7 C7, h F8 N8 V8 E8 C8);
tuple!(a F1 N1 V1 E1 C1, b F2 N2 V2 E2 C2, c F3 N3 V3 E3 C3, d F4 N4 V4 E4 C4, e F5 N5 V5 E5 C5, f F6 N6 V6 E6 C6, g F7 N7 V7 E7 C7, h F8 N8 V8 E8 C8, i F9 N9 V9 E9 C9);
tuple!(a F1 N1 V1 E1 C1, b F2 N2 V2 E2 C2, c F3 N3 V3 E3 C3, d F4 N4 V4 E4 C4, e F5 N5 V5 E5 C5, f F6 N6 V6 E6 C6, g F7 N7 V7 E7 C7, h F8 N8 V8 E8 C8, i F9 N9 V9 E9 C9, j F10 N10 V10 E10 C10);
tuple!(a F1 N1 V1 E1 C1, b F2 N2 V2 E2 C2, c F3 N3 V3 E3 C3, d F4 N4 V4 E4 C4, e F5 N5 V5 E5 C5, f F6 N6 V6 E6 C6, g F7 N7 V7 E7 C7, h F8 N8 V8 E8 C8, i F9 N9 V9 E9 C9, j F10 N10 V10 E10 C10, k F11 N11 V11 E11 C11);
tuple!(a F1 N1 V1 E1 C1, b F2 N2 V2 E2 C2, c F3 N3 V3 E3 C3, d F4 N4 V4 E4 C4, e F5 N5 V5 E5 C5, f F6 N6 V6 E6 C6, g F7 N7 V7 E7 C7, h F8 N8 V8 E8 C8, i F9 N9 V9 E9 C9, j F10 N10 V10 E10 C10, k F11 N11 V11 E11 C11, l F12 N12 V12 E12 C12);
