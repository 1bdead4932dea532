//! The forms inside of a function: `#[budget]`, `#[shield]`, `#[checkpoint]` in every position.
use crate::support::{Failure, later, run, tick};
use deadline_runtime::{Context, checkpoint, deadline};

async fn fetch(n: u32) -> Result<u32, Failure> {
    Ok(later(n).await)
}

// shape: form_budget_let — on a `let`
#[deadline(budget = "1s")]
async fn on_let(n: u32) -> Result<u32, Failure> {
    #[budget("250ms")]
    let n = fetch(n).await?;
    Ok(n)
}

// shape: form_budget_let_pattern — on a `let` with pattern and type
#[deadline(budget = "1s")]
async fn on_let_pattern(n: u32) -> Result<u32, Failure> {
    #[budget("250ms")]
    let (a, b): (u32, u32) = (fetch(n).await?, later(n).await);
    Ok(a + b)
}

// shape: form_budget_let_else — on a `let else`
#[deadline(budget = "1s")]
async fn on_let_else(n: Option<u32>) -> Result<u32, Failure> {
    #[budget("250ms")]
    let Some(n) = later(n).await else {
        return Err(Failure::Refused("nothing"));
    };
    Ok(n)
}

// shape: form_budget_late_let — a variable declared before and assigned in a budgeted block
#[deadline(budget = "1s")]
async fn on_block_assignment(n: u32) -> Result<u32, Failure> {
    let value;
    #[budget("250ms")]
    {
        value = fetch(n).await?;
    }
    Ok(value)
}

// shape: form_budget_statement — on an expression statement
#[deadline(budget = "1s")]
async fn on_statement(n: u32) -> Result<u32, Failure> {
    #[budget("250ms")]
    fetch(n).await?;
    #[budget("250ms")]
    tick().await;
    Ok(n)
}

// shape: form_budget_block — on a block that several awaits share
#[deadline(budget = "1s")]
async fn on_block(n: u32) -> Result<u32, Failure> {
    #[budget("250ms")]
    {
        tick().await;
        let n = fetch(n).await?;
        if n == 0 {
            return Ok(0);
        }
        tick().await;
    }
    Ok(n)
}

// shape: form_budget_if — on an `if` with an else
#[deadline(budget = "1s")]
async fn on_if(n: u32) -> Result<u32, Failure> {
    #[budget("250ms")]
    if later(n).await == 0 {
        tick().await;
    } else {
        fetch(n).await?;
    }
    Ok(n)
}

// shape: form_budget_match — on a `match`
#[deadline(budget = "1s")]
async fn on_match(n: u32) -> Result<u32, Failure> {
    #[budget("250ms")]
    match later(n).await {
        0 => tick().await,
        _ => {
            fetch(n).await?;
        }
    }
    Ok(n)
}

// shape: form_budget_for — on a `for` loop as a whole, with `break` and `continue`
#[deadline(budget = "1s")]
async fn on_for(n: u32) -> Result<u32, Failure> {
    let mut sum = 0;
    #[budget("250ms")]
    for i in 0..n {
        if i == 1 {
            continue;
        }
        sum += fetch(i).await?;
        if sum > 5 {
            break;
        }
    }
    Ok(sum)
}

// shape: form_budget_times — a cap for each round of a loop, labelled
#[deadline(budget = "1s")]
async fn on_times(n: u32) -> Result<u32, Failure> {
    let mut sum = 0;
    #[budget("50ms", times = 10)]
    'rounds: while sum < n {
        sum += fetch(1).await?;
        if sum == 7 {
            break 'rounds;
        }
    }
    Ok(sum)
}

// shape: form_budget_loop_value — on a `let` whose loop breaks with a value
#[deadline(budget = "1s")]
async fn on_loop_value(n: u32) -> Result<u32, Failure> {
    #[budget("250ms")]
    let found = loop {
        let n = fetch(n).await?;
        if n > 0 {
            break n;
        }
    };
    Ok(found)
}

// shape: form_budget_percent — a percentage
#[deadline(budget = "1s")]
async fn percent(n: u32) -> Result<u32, Failure> {
    #[budget("40%")]
    let n = fetch(n).await?;
    Ok(n)
}

// shape: form_budget_fallback — a fallback replaces the value after `?`
#[deadline(budget = "1s")]
async fn fallback(n: u32) -> Result<u32, Failure> {
    #[budget("250ms", fallback = 0)]
    let n = fetch(n).await?;
    Ok(n)
}

// shape: form_budget_fallback_closure — a fallback closure that is given the stop
#[deadline(budget = "1s")]
async fn fallback_closure(n: u32) -> Result<Result<u32, String>, Failure> {
    #[budget("250ms", fallback = |stopped| Err(stopped.to_string()))]
    let n = later(Ok::<_, String>(n)).await;
    Ok(n)
}

// shape: form_budget_fallback_return — a fallback that leaves the function
#[deadline(budget = "1s")]
async fn fallback_return(n: u32) -> Result<u32, Failure> {
    #[budget("250ms", fallback = return Err(Failure::Refused("late")))]
    let n = fetch(n).await?;
    Ok(n)
}

// shape: form_budget_plain_function — in a function that cannot carry a stop
#[deadline(budget = "1s", fallback = 7)]
async fn plain_function(n: u32) -> u32 {
    #[budget("250ms")]
    let n = later(n).await;
    n
}

// shape: form_budget_other_attributes — beside other attributes
#[deadline(budget = "1s")]
async fn other_attributes(n: u32) -> Result<u32, Failure> {
    #[allow(unused_variables)]
    #[budget("250ms")]
    let unused = fetch(n).await?;
    #[budget("250ms")]
    #[allow(unused_mut)]
    let mut n = fetch(n).await?;
    Ok(n)
}

// shape: form_budget_nested — a budget in a budgeted block
#[deadline(budget = "1s")]
async fn nested(n: u32) -> Result<u32, Failure> {
    let mut sum = 0;
    #[budget("500ms")]
    {
        #[budget("100ms")]
        let a = fetch(n).await?;
        #[budget("100ms", fallback = 0)]
        let b = fetch(n).await?;
        sum += a + b + fetch(n).await?;
    }
    Ok(sum)
}

// shape: form_budget_const — a constant
#[deadline(budget = "1s")]
async fn constant(n: u32) -> Result<u32, Failure> {
    const FAST: std::time::Duration = std::time::Duration::from_millis(50);
    #[budget(FAST)]
    let n = fetch(n).await?;
    Ok(n)
}

// shape: form_budget_temporaries — temporaries of the awaited expression live as long as before
#[deadline(budget = "1s")]
async fn temporaries() -> Result<usize, Failure> {
    async fn length(text: &str) -> usize {
        tick().await;
        text.len()
    }
    #[budget("250ms")]
    let a = length(&String::from("temporary")).await;
    #[budget("250ms", fallback = 0)]
    let b = length(&format!("{a}")).await;
    #[shield("50ms")]
    let c = length(&String::from("x")).await;
    Ok(a + b + c)
}

// shape: form_budget_borrows — borrows of locals and `&mut self` through a budget
#[deadline(budget = "1s")]
async fn borrows(list: &mut Vec<u32>) -> Result<usize, Failure> {
    async fn push(list: &mut Vec<u32>, n: &u32) -> usize {
        tick().await;
        list.push(*n);
        list.len()
    }
    let n = 1;
    #[budget("250ms")]
    let length = push(list, &n).await;
    #[budget("250ms", fallback = length)]
    let length = push(list, &n).await;
    Ok(length)
}

// shape: form_budget_macro — awaits in known macros under a budget
#[deadline(budget = "1s")]
async fn in_macros(n: u32) -> Result<u32, Failure> {
    #[budget("250ms")]
    let (a, b) = tokio::try_join!(fetch(n), fetch(1))?;
    #[budget("250ms")]
    let text = format!("{}", fetch(n).await?);
    Ok(a + b + u32::from(text.is_empty()))
}

// shape: form_shield — on a `let`, an expression statement and a tail of a block
#[deadline(budget = "1s")]
async fn shield(n: u32) -> Result<u32, Failure> {
    #[shield("50ms")]
    let n = fetch(n).await?;
    #[shield("50ms")]
    tick().await;
    Ok(n)
}

// shape: form_checkpoint_off — on every kind of loop
#[deadline(budget = "1s")]
async fn checkpoint_off(n: u32) -> Result<u32, Failure> {
    let mut sum = 0;
    #[checkpoint(off)]
    for i in 0..n {
        sum += i;
    }
    #[checkpoint(off)]
    while sum > 100 {
        sum -= 1;
    }
    let done = #[checkpoint(off)]
    loop {
        if sum > 2 {
            break sum;
        }
        sum += 1;
    };
    Ok(later(done).await)
}

// shape: form_checkpoint_function — on a synchronous function
#[checkpoint]
fn hash(ns: &[u32]) -> Result<u32, Failure> {
    let mut sum = 0_u32;
    for n in ns {
        sum = sum.wrapping_mul(31).wrapping_add(*n);
    }
    while sum > 1000 {
        sum /= 2;
    }
    Ok(sum)
}

struct Hasher<'a, T> {
    parts: &'a [T],
}

impl<T: Copy + Into<u32>> Hasher<'_, T> {
    // shape: form_checkpoint_method — on a generic method with a labelled loop
    #[checkpoint]
    fn hash(&self, limit: u32) -> Result<u32, Failure> {
        let mut sum = 0;
        'parts: for part in self.parts {
            loop {
                sum += (*part).into();
                if sum > limit {
                    break 'parts;
                }
                if sum % 2 == 0 {
                    continue 'parts;
                }
            }
        }
        Ok(sum)
    }
}

// shape: form_parent_value — an explicit parent by value
#[deadline(budget = "1s", parent = cx)]
#[allow(clippy::needless_pass_by_value)]
async fn parent_value(cx: Context, n: u32) -> Result<u32, Failure> {
    child(&cx, n).await
}

// shape: form_parent_reference — an explicit parent by reference
#[deadline(budget = "500ms", parent = cx)]
async fn child(cx: &Context, n: u32) -> Result<u32, Failure> {
    let _: &Context = cx;
    Ok(later(n).await)
}

// shape: form_parent_unused — an explicit parent that nothing but the attribute uses
#[deadline(budget = "500ms", parent = cx)]
async fn parent_unused(cx: &Context, n: u32) -> Result<u32, Failure> {
    Ok(later(n).await)
}

// shape: form_parent_fallback — an explicit parent with a fallback
#[deadline(budget = "500ms", parent = cx, fallback = 0)]
#[allow(clippy::needless_pass_by_value)]
async fn parent_fallback(cx: Context, n: u32) -> u32 {
    let _: &Context = &cx;
    later(n).await
}

// shape: form_bind — the context under a name of the user's
#[deadline(budget = "1s", bind = cx)]
async fn bind(n: u32) -> Result<u32, Failure> {
    child(&cx, n).await
}

#[test]
fn values() {
    run(async {
        assert_eq!(on_let(1).await, Ok(1));
        assert_eq!(on_let_pattern(1).await, Ok(2));
        assert_eq!(on_let_else(Some(1)).await, Ok(1));
        assert_eq!(on_block_assignment(1).await, Ok(1));
        assert_eq!(on_statement(1).await, Ok(1));
        assert_eq!(on_block(1).await, Ok(1));
        assert_eq!(on_if(1).await, Ok(1));
        assert_eq!(on_match(1).await, Ok(1));
        assert_eq!(on_for(4).await, Ok(5));
        assert_eq!(on_times(9).await, Ok(7));
        assert_eq!(on_loop_value(1).await, Ok(1));
        assert_eq!(percent(1).await, Ok(1));
        assert_eq!(fallback(1).await, Ok(1));
        assert_eq!(fallback_closure(1).await, Ok(Ok(1)));
        assert_eq!(fallback_return(1).await, Ok(1));
        assert_eq!(plain_function(1).await, 1);
        assert_eq!(other_attributes(1).await, Ok(1));
        assert_eq!(nested(1).await, Ok(3));
        assert_eq!(constant(1).await, Ok(1));
        assert_eq!(temporaries().await, Ok(11));
        assert_eq!(borrows(&mut vec![]).await, Ok(2));
        assert_eq!(in_macros(1).await, Ok(2));
        assert_eq!(shield(1).await, Ok(1));
        assert_eq!(checkpoint_off(3).await, Ok(3));
        assert_eq!(hash(&[1, 2]), Ok(33));
        assert_eq!(Hasher { parts: &[1_u8] }.hash(5), Ok(2));
        assert_eq!(bind(1).await, Ok(1));
        assert_eq!(parent_unused(&Context::current(), 1).await, Ok(1));
        assert_eq!(parent_value(Context::current(), 1).await, Ok(1));
        assert_eq!(parent_fallback(Context::current(), 1).await, 1);
    });
}
