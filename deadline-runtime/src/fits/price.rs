//! What one call counts, and how that came about.

use super::costs::Prices;
use super::slots::Declared;
use super::step::{Kind, Step};

#[derive(Clone, Copy)]
pub(super) struct Price {
    pub(super) sum: u64,
    pub(super) times: u64,
    pub(super) each: u64,
    pub(super) backoffs: u64,
    /// The most that the callee may take.
    pub(super) cap: u64,
    /// What it is the longest of.
    pub(super) parts: &'static [Declared],
}

impl Price {
    pub(super) const NOTHING: Self = Self::of(0, 0);

    const fn of(millis: u64, cap: u64) -> Self {
        Self {
            sum: millis,
            times: 1,
            each: millis,
            backoffs: 0,
            cap,
            parts: &[],
        }
    }

    const fn times(each: u64, times: u64, backoffs: u64) -> Self {
        let sum = each.saturating_mul(times).saturating_add(backoffs);
        Self {
            sum,
            times,
            each,
            backoffs,
            cap: sum,
            parts: &[],
        }
    }

    /// What the future of a call says.
    pub(super) const fn declared(declared: Declared) -> Option<Self> {
        match declared {
            Declared::Nothing | Declared::Several { .. } => None,
            Declared::Millis { cap, plan } => Some(Self::of(plan, cap)),
            Declared::Attempts {
                times,
                each,
                backoffs,
            } => Some(Self::times(each, times, backoffs)),
            Declared::Longest(parts) => Self::longest(parts),
        }
    }

    /// The longest normal run, and the longest that one of them may take.
    const fn longest(parts: &'static [Declared]) -> Option<Self> {
        let (mut sum, mut cap) = (0, 0);
        let mut counts = false;
        let mut index = 0;
        while index < parts.len() {
            if let Some(part) = Self::declared(parts[index]) {
                counts = true;
                sum = larger(sum, part.sum);
                cap = larger(cap, part.cap);
            }
            index += 1;
        }
        if !counts {
            return None;
        }
        Some(Self {
            parts,
            ..Self::of(sum, cap)
        })
    }

    /// What a `#[budget]` says; a call stands for a constant.
    pub(super) const fn fixed(step: &Step, prices: &Prices) -> Self {
        match step.kind() {
            Kind::Budget(millis, _) => Self::of(millis, millis),
            Kind::Share(percent, _) => {
                let millis = prices.work.saturating_mul(percent) / 100;
                Self::of(millis, millis)
            }
            Kind::Times(times, step) => Self::times(Self::fixed(&step, prices).sum, times, 0),
            Kind::Call(number, _) => match Self::declared(prices.declared.at(number)) {
                Some(price) => price,
                None => Self::NOTHING,
            },
            _ => Self::NOTHING,
        }
    }

    /// Whether the sum is a plan.
    pub(super) const fn is_planned(&self) -> bool {
        self.cap != self.sum
    }
}

pub(super) const fn larger(left: u64, right: u64) -> u64 {
    if right > left { right } else { left }
}
