//! Ways out of a loop from a statement with a `fallback`, which goes into a labelled block.
use crate::support::{Failure, later, run};
use deadline_runtime::deadline;

/// Never there for odd numbers.
async fn fetch(n: u32) -> Result<u32, Failure> {
    if n % 2 == 1 {
        std::future::pending::<()>().await;
    }
    Ok(later(n).await)
}

async fn at_once(n: u32) -> u32 {
    std::future::ready(n).await
}

// shape: exit_fallback_continue — a fallback that goes on with the next round
#[deadline(budget = "1s")]
async fn fallback_continue(n: u32) -> Result<u32, Failure> {
    let mut sum = 0;
    for i in 0..n {
        #[budget("30ms", fallback = continue)]
        let i = fetch(i).await?;
        sum += i;
    }
    Ok(sum)
}

// shape: exit_fallback_break — a fallback that ends the loop, in all three kinds
#[deadline(budget = "1s")]
async fn fallback_break(n: u32) -> Result<u32, Failure> {
    let mut sum = 0;
    for i in 0..n {
        #[budget("30ms", fallback = break)]
        let i = fetch(i).await?;
        sum += i + 10;
    }
    while sum > 0 {
        #[budget("30ms", fallback = break)]
        let i = fetch(sum + 1).await?;
        sum += i;
    }
    sum += loop {
        #[budget("30ms", fallback = break 100)]
        fetch(1).await?;
    };
    Ok(sum)
}

// shape: exit_fallback_sometimes — a fallback that leaves the loop in one of its branches
#[deadline(budget = "1s")]
async fn fallback_sometimes(n: u32) -> Result<u32, Failure> {
    let mut sum = 0;
    for i in 0..n {
        #[budget("30ms", fallback = if i > 2 { break } else { 50 })]
        let i = fetch(i).await?;
        sum += i;
    }
    Ok(sum)
}

// shape: exit_own_label — beside a label of the user's
#[deadline(budget = "1s")]
async fn own_label(n: u32) -> Result<u32, Failure> {
    let mut sum = 0;
    'outer: for i in 0..n {
        'inner: for j in 0..n {
            #[budget("30ms", fallback = continue)]
            let j = fetch(j).await?;
            sum += j;
            if j > i {
                continue 'outer;
            }
            if sum > 100 {
                break 'inner;
            }
        }
    }
    Ok(sum)
}

// shape: exit_nested_loops — every fallback leaves the loop that it stands in
#[deadline(budget = "1s")]
async fn nested_loops(n: u32) -> Result<u32, Failure> {
    let mut sum = 0;
    for i in 0..n {
        #[budget("30ms", fallback = continue)]
        let i = fetch(i).await?;
        for j in 0..n {
            #[budget("30ms", fallback = break)]
            let j = fetch(j).await?;
            sum += i + j + 1;
        }
    }
    Ok(sum)
}

// shape: exit_in_the_statement — the statement itself leaves the loop
#[deadline(budget = "1s")]
async fn in_the_statement(n: u32) -> Result<u32, Failure> {
    let mut sum = 0;
    for i in 0..n {
        #[budget("250ms", fallback = 0)]
        let i = match at_once(i).await {
            0 => continue,
            3 => break,
            i => i,
        };
        sum += i;
    }
    Ok(sum)
}

// shape: exit_inner_loop — a loop inside the statement keeps its own `break`
#[deadline(budget = "1s")]
async fn inner_loop(n: u32) -> Result<u32, Failure> {
    let mut sum = 0;
    for i in 0..n {
        #[budget("250ms", fallback = continue)]
        {
            for j in 0..10 {
                if at_once(j).await == i {
                    break;
                }
                sum += 1;
            }
            if sum > 100 {
                continue;
            }
            sum += at_once(0).await;
        }
    }
    Ok(sum)
}

// shape: exit_of_rounds — a loop with a cap on each round, inside a loop
#[deadline(budget = "1s")]
async fn of_rounds(n: u32) -> Result<u32, Failure> {
    let mut sum = 0;
    for i in 0..n {
        #[budget("30ms", times = 10, fallback = continue)]
        for j in 0..10 {
            if j > i {
                break;
            }
            fetch(j).await?;
        }
        sum += 1;
    }
    Ok(sum)
}

// shape: exit_fallback_in_fallback — a fallback inside a statement with another
#[deadline(budget = "1s")]
async fn fallback_in_fallback(n: u32) -> Result<u32, Failure> {
    let mut sum = 0;
    for i in 0..n {
        #[budget("250ms", fallback = break)]
        {
            #[budget("30ms", fallback = continue)]
            let i = fetch(i).await?;
            sum += i;
        }
    }
    Ok(sum)
}

// shape: exit_attributes — attributes of a statement with a fallback stay on it
#[deadline(budget = "1s")]
async fn attributes(n: u32) -> Result<u32, Failure> {
    #[cfg(any())]
    #[budget("250ms", fallback = missing())]
    missing().await;
    #[budget("250ms", fallback = Ok(0))]
    #[allow(unused_must_use)]
    fetch(n).await;
    Ok(n)
}

#[test]
fn values() {
    run(async {
        assert_eq!(fallback_continue(5).await, Ok(6));
        assert_eq!(fallback_break(5).await, Ok(110));
        assert_eq!(fallback_sometimes(5).await, Ok(52));
        assert_eq!(own_label(3).await, Ok(6));
        assert_eq!(nested_loops(3).await, Ok(4));
        assert_eq!(in_the_statement(9).await, Ok(3));
        assert_eq!(inner_loop(3).await, Ok(3));
        assert_eq!(of_rounds(3).await, Ok(1));
        assert_eq!(fallback_in_fallback(5).await, Ok(6));
        assert_eq!(attributes(2).await, Ok(2));
    });
}
