//! "Did you mean …?"

/// The candidate that a mistyped word most probably stands for, if any is near enough.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= allowed || is_a_stem(word, candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `check` for `checkpoints`, `minimum` for `min`.
fn is_a_stem(word: &str, candidate: &str) -> bool {
    word.len().min(candidate.len()) >= 3
        && (candidate.starts_with(word) || word.starts_with(candidate))
}

/// Optimal string alignment: insertions, deletions, substitutions and swapped neighbours.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().flat_map(char::to_lowercase).collect();
    let right: Vec<char> = right.chars().flat_map(char::to_lowercase).collect();
    let mut before = vec![0; right.len() + 1];
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (row, from) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, to) in right.iter().enumerate() {
            let substituted = above[column] + usize::from(from != to);
            let mut best = substituted
                .min(above[column + 1] + 1)
                .min(current[column] + 1);
            if row > 0 && column > 0 && *from == right[column - 1] && left[row - 1] == *to {
                best = best.min(before[column - 1] + 1);
            }
            current.push(best);
        }
        before = std::mem::replace(&mut above, current);
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    const NAMES: [&str; 8] = [
        "budget",
        "reserve",
        "min",
        "plan",
        "cleanup",
        "fallback",
        "checkpoints",
        "crate",
    ];

    #[test]
    fn a_slip_finds_its_word() {
        for (typed, meant) in [
            ("budgt", "budget"),
            ("buget", "budget"),
            ("bugdet", "budget"),
            ("Budget", "budget"),
            ("reserved", "reserve"),
            ("checkpoint", "checkpoints"),
            ("minimum", "min"),
            ("clean_up", "cleanup"),
            ("fall_back", "fallback"),
        ] {
            assert_eq!(nearest(typed, NAMES), Some(meant), "{typed}");
        }
    }

    #[test]
    fn another_word_finds_nothing() {
        for typed in ["timeout", "retries", "x"] {
            assert_eq!(nearest(typed, NAMES), None, "{typed}");
        }
    }
}
