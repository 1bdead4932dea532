use crate::entry;
use crate::faults::Faults;
use crate::parse::deadline;
use crate::parse::item::{self, Item};

/// What is said about `#[deadline(args)] function`.
fn said(args: &str, function: &str) -> Vec<String> {
    let mut faults = Faults::default();
    let arguments = deadline::parse(args.parse().expect("arguments"), &mut faults);
    let Item::Function(item) = item::parse(function.parse().expect("a function")) else {
        panic!("not a function: {function}");
    };
    entry::model(arguments, *item, &mut faults);
    faults.messages()
}

fn about_the_arguments(args: &str) -> Vec<String> {
    said(args, "async fn f() -> Result<(), E> { Ok(()) }")
}

fn about_the_body(args: &str, body: &str) -> Vec<String> {
    said(args, &format!("async fn f() -> Result<(), E> {{ {body} }}"))
}

#[track_caller]
fn one(said: &[String], part: &str) {
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(said[0].contains(part), "{said:#?}");
}

#[track_caller]
fn nothing(said: &[String]) {
    assert!(said.is_empty(), "{said:#?}");
}

#[test]
fn figures_and_their_neighbours_one_millisecond_off() {
    for (wrong, part, right) in [
        (
            r#"budget = "100ms", reserve = "100ms""#,
            "`reserve` of 100ms leaves nothing to work with",
            r#"budget = "100ms", reserve = "99ms""#,
        ),
        (
            r#"budget = "100ms", cleanup = "100ms""#,
            "`cleanup` of 100ms leaves nothing to work with",
            r#"budget = "100ms", cleanup = "99ms""#,
        ),
        (
            r#"budget = "100ms", reserve = "20ms", min = "81ms""#,
            "accepted is up to \"80ms\"",
            r#"budget = "100ms", reserve = "20ms", min = "80ms""#,
        ),
        (
            r#"budget = "100ms", reserve = "20ms", cleanup = "10ms", min = "71ms""#,
            "accepted is up to \"70ms\"",
            r#"budget = "100ms", reserve = "20ms", cleanup = "10ms", min = "70ms""#,
        ),
        (
            r#"budget = "100ms", plan = "101ms""#,
            "`plan` of 101ms is more than the budget of 100ms",
            r#"budget = "100ms", plan = "100ms""#,
        ),
        (
            r#"plan = "50ms""#,
            "add `budget = …`",
            r#"budget = "1s", plan = "50ms""#,
        ),
        (
            r#"min = "50%""#,
            "a percentage for `min` is one of `budget`",
            r#"budget = "1s", min = "50%""#,
        ),
        (
            r#"budget = "40%", plan = "50ms""#,
            "`plan` needs a `budget` that is a duration",
            r#"budget = "40%""#,
        ),
        (
            r#"budget = "1s", reserve = "10%""#,
            "`reserve` accepts a duration",
            r#"budget = "1s", reserve = "100ms""#,
        ),
    ] {
        one(&about_the_arguments(wrong), part);
        nothing(&about_the_arguments(right));
    }
}

#[test]
fn reserve_and_cleanup_are_reported_at_both() {
    let args = r#"budget = "100ms", reserve = "60ms", cleanup = "40ms""#;
    let said = about_the_arguments(args);
    assert_eq!(said.len(), 2, "{said:#?}");
    nothing(&about_the_arguments(
        r#"budget = "100ms", reserve = "60ms", cleanup = "39ms""#,
    ));
}

#[test]
fn a_const_has_no_figure_to_check() {
    nothing(&about_the_arguments(
        r#"budget = crate::budgets::DB, reserve = "10h", min = MIN"#,
    ));
}

#[test]
fn all_faults_at_once() {
    let said = about_the_arguments(
        r#"budget = "450", reserve = 3, colour = "red", min = "1M", boxed = true, buget = "1s""#,
    );
    assert_eq!(said.len(), 6, "{said:#?}");
}

#[test]
fn arguments_that_are_unknown_repeated_or_unfinished() {
    for (args, part) in [
        (r#"buget = "1s""#, "did you mean `budget`?"),
        (r#"timeout = "1s""#, "did you mean `budget`?"),
        (r#"budget = "1s", budget = "2s""#, "`budget` is given twice"),
        (r#""1s""#, "name the argument: `budget = \"1s\"`"),
        ("budget =", "`budget =` has no value yet"),
        ("budget", "`budget` needs a value"),
        (r"budget = Duration::from_secs(1)", "the path of a `const`"),
        (r"budget = 1s", "written in quotes: \"1s\""),
        (r#"budget = "1s" reserve = "1ms""#, "expected `,`"),
        (r#"checkpoints = "loop""#, "did you mean \"loops\"?"),
        (r#"parent = "wanted""#, "\"required\""),
        ("parent = cx", "there is no parameter `cx`"),
        (r#"name = """#, "not empty"),
        ("keep_async = true", "takes no value"),
        (r#"crate = "x""#, "accepts the path"),
    ] {
        one(&about_the_arguments(args), part);
    }
}

#[test]
fn generics_and_closures_in_a_fallback_contain_commas() {
    nothing(&about_the_arguments(
        r#"fallback = Map::<A, B>::new(), budget = "1s""#,
    ));
    nothing(&about_the_arguments(
        r#"fallback = |stopped| { log(stopped, 1); 2 }, budget = "1s""#,
    ));
}

#[test]
fn sequence_adds_and_one_millisecond_decides() {
    let body = |last: &str| {
        format!(
            r#"#[budget("200ms")] a().await?; #[budget("150ms")] let x = b().await?; #[budget("{last}")] c(x).await"#
        )
    };
    let args = r#"budget = "500ms", reserve = "100ms""#;
    one(
        &about_the_body(args, &body("51ms")),
        "need 401ms one after the other (200ms + 150ms + 51ms), but it has 400ms (500ms less a reserve of 100ms): 1ms too much",
    );
    nothing(&about_the_body(args, &body("50ms")));
    nothing(&about_the_body(
        r#"budget = "500ms", reserve = "100ms", allow_overcommit"#,
        &body("51ms"),
    ));
}

#[test]
fn what_does_not_run_one_after_the_other_does_not_add() {
    let args = r#"budget = "1s""#;
    for body in [
        r#"if x { #[budget("600ms")] a().await?; } else { #[budget("600ms")] b().await?; } Ok(())"#,
        r#"match x { 1 => { #[budget("600ms")] a().await?; } _ => { #[budget("600ms")] b().await?; } } Ok(())"#,
        r#"if x { #[budget("600ms")] return a().await; } #[budget("600ms")] b().await"#,
        r#"if x { #[budget("600ms")] a().await?; return Ok(()); } #[budget("600ms")] b().await"#,
        r#"for x in y { #[budget("600ms")] a(x).await?; return Ok(()); } #[budget("600ms")] b().await"#,
        r#"let Some(x) = y else { #[budget("600ms")] a().await?; panic!("no") }; #[budget("600ms")] b(x).await"#,
        r#"#[cfg(one)] #[budget("600ms")] a().await?; #[cfg(not(one))] #[budget("600ms")] b().await?; Ok(())"#,
        r#"for x in y { #[budget("600ms")] a(x).await?; } Ok(())"#,
        r#"loop { if x { #[budget("600ms")] a().await?; break; } #[budget("600ms")] b().await?; } Ok(())"#,
    ] {
        nothing(&about_the_body(args, body));
    }
}

#[test]
fn what_runs_one_after_the_other_adds() {
    let args = r#"budget = "1s""#;
    for body in [
        r#"if x { #[budget("600ms")] a().await?; } #[budget("600ms")] b().await"#,
        r#"for x in y { #[budget("600ms")] a(x).await?; } #[budget("600ms")] b().await"#,
        r#"loop { #[budget("600ms")] a().await?; if x { break; } } #[budget("600ms")] b().await"#,
        r#"'a: { #[budget("600ms")] a().await?; break 'a; } #[budget("600ms")] b().await"#,
        r#"f(#[budget("600ms")] a().await?, #[budget("600ms")] b().await?)"#,
        r#"println!("{} {}", #[budget("600ms")] a().await?, #[budget("600ms")] b().await?); Ok(())"#,
        r#"#[budget("300ms", times = 4)] for x in y { a(x).await?; } Ok(())"#,
        r#"#[budget("60%")] a().await?; #[budget("41%")] b().await"#,
    ] {
        one(&about_the_body(args, body), "one after the other");
    }
    one(
        &about_the_body(
            "",
            r#"#[budget("60%")] a().await?; #[budget("41%")] b().await"#,
        ),
        "need 101% one after the other (60% + 41%)",
    );
}

#[test]
fn one_statement_against_its_function_and_its_surroundings() {
    let args = r#"budget = "500ms", reserve = "100ms""#;
    one(
        &about_the_body(args, r#"#[budget("401ms")] a().await"#),
        "this budget of 401ms is more than the function has: 400ms (500ms less a reserve of 100ms)",
    );
    nothing(&about_the_body(args, r#"#[budget("400ms")] a().await"#));
    one(
        &about_the_body(args, r#"#[shield("501ms")] a().await"#),
        "this shield of 501ms",
    );
    nothing(&about_the_body(args, r#"#[shield("500ms")] a().await"#));
    one(
        &about_the_body(
            args,
            r#"#[budget("50ms")] { #[budget("51ms")] a().await?; }"#,
        ),
        "inside one of 50ms",
    );
    nothing(&about_the_body(
        args,
        r#"#[budget("50ms")] { #[budget("50ms")] a().await?; } Ok(())"#,
    ));
}

#[test]
fn attributes_where_nothing_serves_them() {
    let args = r#"budget = "1s""#;
    for (body, part) in [
        (r#"#[budget("1ms")] let x = 1;"#, "covers no `await`"),
        (r#"#[budget("1ms")] v = f().await;"#, "covers no `await`"),
        (r#"#[shield("1ms")] f();"#, "covers no `await`"),
        (
            r#"#[budget("1ms")] let x = async { f().await };"#,
            "covers no `await`",
        ),
        (
            r#"let x = async { #[budget("1ms")] f().await; };"#,
            "in an async block",
        ),
        (r#"let x = || { #[budget("1ms")] f(); };"#, "in a closure"),
        (
            r#"select! { x = #[budget("1ms")] f() => {} }"#,
            "does not look into `select!`",
        ),
        (
            r#"#[cfg_attr(x, budget("1ms"))] f().await;"#,
            "`cfg_attr` hides this",
        ),
        (r"#[checkpoint(off)] f().await;", "belongs on a `loop`"),
        (r"#[checkpoint(on)] loop {}", "`#[checkpoint(off)]`"),
        (
            r#"#[budget("1ms", times = 2)] f().await;"#,
            "how often a loop runs",
        ),
        (
            r#"#[budget("1ms", times = 0)] for x in y { f().await; }"#,
            "from 1 on",
        ),
        (
            r#"#[budget("1ms", fallbak = 1)] f().await;"#,
            "did you mean `fallback`?",
        ),
        ("#[budget] f().await;", "needs an amount"),
        (r#"#[budget = "1ms"] f().await;"#, "goes into parentheses"),
        (
            r#"#[shield("1ms")] f(g().await).await;"#,
            "cannot contain another `await`",
        ),
        (
            r#"#[shield("1ms")] { #[budget("1ms")] f().await; }"#,
            "the bound of everything in it",
        ),
        (
            r#"#[budget("1ms")] join!(f(g()?), h());"#,
            "not inside a `join!`",
        ),
    ] {
        one(&about_the_body(args, body), part);
    }
    nothing(&about_the_body(
        args,
        r#"#[budget("9ms")] let (a, b) = tokio::join!(a(), b()); #[checkpoint(off)] loop {}"#,
    ));
}

#[test]
fn functions_that_cannot_be_served() {
    for (function, part) in [
        ("fn f() {}", "needs an `async fn`"),
        ("const fn f() {}", "`const fn`"),
        ("extern \"C\" fn f() {}", "`extern` function"),
        (
            "fn f() { spawn(async { g().await }); }",
            "needs an `async fn`",
        ),
        (
            "async fn f() -> ! { loop {} }",
            "add `fallback = panic!(…)`",
        ),
        ("#[deadline] async fn f() {}", "given twice"),
    ] {
        one(&said(r#"budget = "1s""#, function), part);
    }
    for function in [
        "unsafe fn f() -> impl Future<Output = T> { async move { 1 } }",
        "fn f() -> Pin<Box<dyn Future<Output = T>>> { Box::pin(async move { 1 }) }",
        "fn main() { let body = async { 1 }; return runtime().block_on(body); }",
    ] {
        nothing(&said(r#"budget = "1s""#, function));
    }
}

#[test]
fn what_an_attribute_in_front_of_an_operator_covers() {
    let body = |expr: &str| about_the_body(r#"budget = "1s""#, &format!("let n = {expr};"));
    for wrong in [
        r#"#[budget("10ms")] a().await? + b().await?"#,
        r#"#[budget("10ms")] a().await? + 1 + b().await?"#,
        r#"#[budget("10ms")] a().await? as u64 + b().await?"#,
        r#"#[shield("10ms")] a().await? > b().await?"#,
    ] {
        one(&body(wrong), "alone, and there is an `await` on its right");
    }
    for right in [
        r#"(#[budget("10ms")] a().await?) + b().await?"#,
        r#"#[budget("10ms")] (a().await? + b().await?)"#,
        r#"#[budget("10ms")] a().await? + #[budget("10ms")] b().await?"#,
        r#"#[budget("10ms")] a().await? + b()"#,
    ] {
        nothing(&body(right));
    }
}

#[test]
fn fallback_closures_take_the_stop_alone() {
    for (closure, right) in [
        ("|| 0", false),
        ("|a, b| 0", false),
        ("|_| 0", true),
        ("0", true),
    ] {
        let of_function = about_the_arguments(&format!(r#"budget = "1s", fallback = {closure}"#));
        let of_statement = about_the_body(
            r#"budget = "1s""#,
            &format!(r#"#[budget("10ms", fallback = {closure})] a().await;"#),
        );
        for said in [of_function, of_statement] {
            if right {
                nothing(&said);
            } else {
                one(&said, "takes one argument");
            }
        }
    }
}

#[test]
fn shields_and_the_budgets_around_them() {
    let body = |outer: &str, inner: &str| {
        about_the_body(
            r#"budget = "1s""#,
            &format!("#[{outer}] {{ #[{inner}] a().await; }}"),
        )
    };
    nothing(&body(r#"budget("20ms")"#, r#"shield("20ms")"#));
    one(
        &body(r#"budget("20ms")"#, r#"shield("21ms")"#),
        "would be overrun",
    );
    one(
        &body(r#"shield("20ms")"#, r#"budget("10ms")"#),
        "a `#[budget]` inside a `#[shield]`",
    );
}
