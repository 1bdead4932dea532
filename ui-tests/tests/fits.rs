//! Budgets that do not fit do not compile, and those that just fit do.
//!
//! Each file in `ui-tests/fits` is a function that needs a millisecond more than it has. Its neighbour in `fits/pass` is the
//! same with that millisecond, compiled here.
#![allow(dead_code)]

use std::fs;
use std::path::Path;

#[test]
fn what_does_not_fit_is_refused() {
    trybuild::TestCases::new().compile_fail("fits/*.rs");
}

/// One figure differs, by one.
#[test]
fn neighbours_differ_by_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fits");
    let mut cases = 0;
    for entry in fs::read_dir(&folder).expect("the folder of the cases") {
        let path = entry.expect("an entry of it").path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        cases += 1;
        let name = path.file_name().expect("a name");
        let read = |path: &Path| fs::read_to_string(path).expect("a case and its neighbour");
        let (wrong, right) = (read(&path), read(&folder.join("pass").join(name)));
        let different: Vec<_> = wrong
            .lines()
            .zip(right.lines())
            .filter(|(wrong, right)| wrong != right)
            .collect();
        assert_eq!(wrong.lines().count(), right.lines().count(), "{name:?}");
        let [(wrong, right)] = &*different else {
            panic!("{name:?}: {different:?}");
        };
        let (wrong, right) = (figures(wrong), figures(right));
        let apart: u64 = wrong
            .iter()
            .zip(&right)
            .map(|(wrong, right)| wrong.abs_diff(*right))
            .sum();
        assert_eq!((wrong.len(), apart), (right.len(), 1), "{name:?}");
    }
    assert!(cases >= 70, "only {cases} cases");
}

/// The numbers in a line.
fn figures(line: &str) -> Vec<u64> {
    line.split(|character: char| !character.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

#[path = "../fits/pass/argument.rs"]
mod argument;
#[path = "../fits/pass/async_trait.rs"]
mod async_trait;
#[path = "../fits/pass/blanket_traits.rs"]
mod blanket_traits;
#[path = "../fits/pass/borrowed.rs"]
mod borrowed;
#[path = "../fits/pass/boxed.rs"]
mod boxed;
#[path = "../fits/pass/break_path.rs"]
mod break_path;
#[path = "../fits/pass/budget_at_call.rs"]
mod budget_at_call;
#[path = "../fits/pass/budget_on_return.rs"]
mod budget_on_return;
#[path = "../fits/pass/budget_on_unknown.rs"]
mod budget_on_unknown;
#[path = "../fits/pass/budget_percent.rs"]
mod budget_percent;
#[path = "../fits/pass/callee_cleanup.rs"]
mod callee_cleanup;
#[path = "../fits/pass/cfg_awaits.rs"]
mod cfg_awaits;
#[path = "../fits/pass/cfg_present.rs"]
mod cfg_present;
#[path = "../fits/pass/chained.rs"]
mod chained;
#[path = "../fits/pass/cleanup.rs"]
mod cleanup;
#[path = "../fits/pass/closure_between.rs"]
mod closure_between;
#[path = "../fits/pass/const_at_call.rs"]
mod const_at_call;
#[path = "../fits/pass/const_of_another_crate.rs"]
mod const_of_another_crate;
#[path = "../fits/pass/const_parameter.rs"]
mod const_parameter;
#[path = "../fits/pass/const_parameter_of_the_impl.rs"]
mod const_parameter_of_the_impl;
#[path = "../fits/pass/const_path.rs"]
mod const_path;
#[path = "../fits/pass/const_reserve.rs"]
mod const_reserve;
#[path = "../fits/pass/delegation.rs"]
mod delegation;
#[path = "../fits/pass/dynamic.rs"]
mod dynamic;
#[path = "../fits/pass/early_return.rs"]
mod early_return;
#[path = "../fits/pass/else_if.rs"]
mod else_if;
#[path = "../fits/pass/fallback.rs"]
mod fallback;
#[path = "../fits/pass/from_macro.rs"]
mod from_macro;
#[path = "../fits/pass/futures_join.rs"]
mod futures_join;
#[path = "../fits/pass/generic_budget.rs"]
mod generic_budget;
#[path = "../fits/pass/generic_function.rs"]
mod generic_function;
#[path = "../fits/pass/generic_impl.rs"]
mod generic_impl;
#[path = "../fits/pass/if_else.rs"]
mod if_else;
#[path = "../fits/pass/in_macro.rs"]
mod in_macro;
#[path = "../fits/pass/instrumented.rs"]
mod instrumented;
#[path = "../fits/pass/join.rs"]
mod join;
#[path = "../fits/pass/later_argument.rs"]
mod later_argument;
#[path = "../fits/pass/later_closure.rs"]
mod later_closure;
#[path = "../fits/pass/later_default.rs"]
mod later_default;
#[path = "../fits/pass/later_join.rs"]
mod later_join;
#[path = "../fits/pass/later_option.rs"]
mod later_option;
#[path = "../fits/pass/let_else.rs"]
mod let_else;
#[path = "../fits/pass/longest.rs"]
mod longest;
#[path = "../fits/pass/loop_forever.rs"]
mod loop_forever;
#[path = "../fits/pass/loop_once.rs"]
mod loop_once;
#[path = "../fits/pass/loop_times.rs"]
mod loop_times;
#[path = "../fits/pass/match_arms.rs"]
mod match_arms;
#[path = "../fits/pass/match_guard.rs"]
mod match_guard;
#[path = "../fits/pass/method.rs"]
mod method;
#[path = "../fits/pass/more_than_all.rs"]
mod more_than_all;
#[path = "../fits/pass/nested_block.rs"]
mod nested_block;
#[path = "../fits/pass/pinned.rs"]
mod pinned;
#[path = "../fits/pass/plan.rs"]
mod plan;
#[path = "../fits/pass/private_unused.rs"]
mod private_unused;
#[path = "../fits/pass/question_mark.rs"]
mod question_mark;
#[path = "../fits/pass/renamed.rs"]
mod renamed;
#[path = "../fits/pass/reserve.rs"]
mod reserve;
#[path = "../fits/pass/retry_backoff.rs"]
mod retry_backoff;
#[path = "../fits/pass/retry_reserve.rs"]
mod retry_reserve;
#[path = "../fits/pass/select.rs"]
mod select;
#[path = "../fits/pass/sequence.rs"]
mod sequence;
#[path = "../fits/pass/settings.rs"]
mod settings;
#[path = "../fits/pass/shield_around.rs"]
mod shield_around;
#[path = "../fits/pass/thirty.rs"]
mod thirty;
#[path = "../fits/pass/three_deep.rs"]
mod three_deep;
#[path = "../fits/pass/three_hundred.rs"]
mod three_hundred;
#[path = "../fits/pass/trait_callee.rs"]
mod trait_callee;
#[path = "../fits/pass/trait_impl.rs"]
mod trait_impl;
#[path = "../fits/pass/try_join.rs"]
mod try_join;
#[path = "../fits/pass/two_crates.rs"]
mod two_crates;
#[path = "../fits/pass/variable.rs"]
mod variable;
#[path = "../fits/pass/while_condition.rs"]
mod while_condition;
#[path = "../fits/pass/wrapped.rs"]
mod wrapped;
