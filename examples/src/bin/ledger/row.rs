//! One story as one row, and what in it breaks a promise.

use std::fmt;

use crate::order::{Payment, Verdict};

#[derive(Debug)]
pub struct Row {
    pub story: String,
    /// What the client saw of its first request.
    pub saw: Seen,
    /// What the service says when everything is brought to its end; `None` if it knows nothing of it.
    pub after: Option<Payment>,
    /// What the client saw when it sent the same again.
    pub again: Seen,
    /// How often the provider was asked, in the end.
    pub asked: usize,
    /// Every time that it took money.
    pub charges: Vec<String>,
    pub problems: Vec<String>,
}

/// What a client sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    Answer {
        status: u16,
        cause: Option<String>,
        payment: Option<Payment>,
        replayed: bool,
        /// Seconds, as the header says them.
        retry_after: Option<String>,
    },
    Nothing,
}

pub const HEAD: &str = "\
story                                                  the client saw                after reconcile  sent again        asked  charges
-----------------------------------------------------  ----------------------------  ---------------  ----------------  -----  -------";

impl Row {
    pub const fn charged(&self) -> usize {
        self.charges.len()
    }

    /// What must never be, whatever happened.
    pub fn judge(&mut self) {
        if self.charged() > 1 {
            self.problem(format!("double payment: {:?}", self.charges));
        }
        for (when, payment) in [
            ("the client saw", self.saw.payment()),
            ("the service says", self.after.clone()),
            ("the client saw again", self.again.payment()),
        ] {
            let claimed = payment.as_ref().and_then(Payment::charge);
            let made = |charge: &str| self.charges.iter().any(|made| made == charge);
            if claimed.is_some_and(|charge| !made(charge)) {
                let charges = &self.charges;
                self.problem(format!(
                    "false paid: {when} {}, made are {charges:?}",
                    claimed.unwrap_or_default()
                ));
            }
        }
        // Whoever was told 201, 202 or 402 was told that the order is known.
        if self.saw.payment().is_some() && self.after.is_none() {
            self.problem("lost intent: it was accepted and is gone".into());
        }
        if self
            .after
            .as_ref()
            .is_some_and(|after| after.verdict.is_none())
        {
            self.problem("lost intent: it is there and is not brought to its end".into());
        }
        let verdict = self.again.payment().and_then(|payment| payment.verdict);
        let settled = match &verdict {
            Some(Verdict::Paid(_)) => self.charged() == 1,
            Some(Verdict::Declined) => self.charged() == 0,
            None => false,
        };
        if !settled {
            let charges = &self.charges;
            self.problem(format!(
                "in the end the client has {verdict:?} and {charges:?} were made"
            ));
        }
    }

    pub fn problem(&mut self, text: String) {
        self.problems.push(text);
    }
}

impl Seen {
    pub const fn status(&self) -> u16 {
        match self {
            Self::Answer { status, .. } => *status,
            Self::Nothing => 0,
        }
    }

    pub fn payment(&self) -> Option<Payment> {
        match self {
            Self::Answer { payment, .. } => payment.clone(),
            Self::Nothing => None,
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Nothing => "no answer".to_owned(),
            Self::Answer {
                status,
                cause: Some(cause),
                ..
            } => format!("{status} {cause}"),
            Self::Answer {
                status,
                payment: Some(payment),
                replayed,
                ..
            } => format!(
                "{status} {payment}{}",
                if *replayed { ", again" } else { "" }
            ),
            Self::Answer { status, .. } => status.to_string(),
        };
        f.pad(&text)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = self.after.as_ref().map_or("unknown", Payment::status);
        let (asked, charges) = (self.asked, self.charged());
        write!(
            f,
            "{:<53}  {:<28}  {after:<15}  {:<16}  {asked:>5}  {charges:>7}",
            self.story, self.saw, self.again
        )?;
        for problem in &self.problems {
            write!(f, "\n    BROKEN: {problem}")?;
        }
        Ok(())
    }
}
