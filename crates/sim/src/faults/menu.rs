//! What may go wrong.

use std::collections::BTreeMap;

use crate::random::Random;

/// One way in which things go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The watch of one kind falls behind: an event and all after it come late.
    LateEvents,
    /// An event comes late and others overtake it, though never those of the same object.
    OvertakenEvents,
    /// A watch loses events until it expires some time later.
    LostEvents,
    /// A watch ends; the client goes on from where it was.
    BrokenWatch,
    /// A watch ends with 410; the client must list again.
    ExpiredWatch,
    /// A list that does not ask for the latest state is answered from an older one.
    StaleList,
    /// A request waits before it takes effect, or its answer comes late.
    SlowRequest,
    /// A write meets 409 and has no effect.
    Conflict,
    /// A write meets 429 and has no effect.
    TooManyRequests,
    /// A write meets 403 from admission and has no effect.
    Refusal,
    /// A write meets 500 and has no effect.
    FailureBefore,
    /// A write takes effect, the answer is 500.
    FailureAfter,
    /// A write takes effect, no answer comes.
    SilenceAfter,
    /// The client under test dies before or after a write and comes back a little later.
    Crash,
    /// The client under test is told to stop at a write; another one takes over when the lease has run out.
    LeaseLoss,
    /// A pod is unready for a while.
    SlowPods,
    /// A pod is unready, or crashes over and over, until the faults stop.
    DeadPods,
    /// Somebody else edits objects.
    Edits,
    /// Somebody else deletes objects.
    Deletions,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::LateEvents,
        Self::OvertakenEvents,
        Self::LostEvents,
        Self::BrokenWatch,
        Self::ExpiredWatch,
        Self::StaleList,
        Self::SlowRequest,
        Self::Conflict,
        Self::TooManyRequests,
        Self::Refusal,
        Self::FailureBefore,
        Self::FailureAfter,
        Self::SilenceAfter,
        Self::Crash,
        Self::LeaseLoss,
        Self::SlowPods,
        Self::DeadPods,
        Self::Edits,
        Self::Deletions,
    ];

    /// The fault of this name.
    ///
    /// # Errors
    /// The names there are.
    pub fn named(name: &str) -> Result<Self, String> {
        let known = Self::ALL.map(|fault| format!("{fault:?}"));
        let at = known.iter().position(|known| known == name);
        at.map(|at| Self::ALL[at]).ok_or_else(|| format!("no fault {name:?}; there are {}", known.join(", ")))
    }

    /// How often it happens by default: in so many of a thousand cases. A case is a delivery, a list, a write, or for
    /// pods and other writers a second.
    fn usual_rate(self) -> u32 {
        match self {
            Self::LateEvents => 20,
            Self::OvertakenEvents => 30,
            Self::LostEvents => 4,
            Self::BrokenWatch => 8,
            Self::ExpiredWatch => 5,
            Self::StaleList => 300,
            Self::SlowRequest => 20,
            Self::Conflict | Self::FailureAfter => 30,
            Self::TooManyRequests | Self::FailureBefore => 20,
            Self::Refusal => 15,
            Self::SilenceAfter => 8,
            Self::Crash | Self::LeaseLoss => 10,
            Self::SlowPods => 60,
            Self::DeadPods => 25,
            Self::Edits => 120,
            Self::Deletions => 40,
        }
    }
}

/// Which faults may happen, and in how many of a thousand cases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Menu {
    rates: BTreeMap<Fault, u32>,
}

impl Menu {
    /// Nothing goes wrong.
    pub fn calm() -> Self {
        Self::default()
    }

    /// Everything goes wrong at its usual rate.
    pub fn full() -> Self {
        Fault::ALL.into_iter().fold(Self::calm(), |menu, fault| menu.with(fault, fault.usual_rate()))
    }

    /// A different selection for each seed. Faults hide each other when all of them are always on, so each is left out
    /// in half of the runs.
    pub fn drawn(seed: u64) -> Self {
        let mut random = Random::new(seed, "menu");
        let mut menu = Self::calm();
        // One kind of trouble at a time gives the strictest checks a chance to speak.
        let calm_views = random.per_mille(350);
        for fault in Fault::ALL {
            let chosen = random.per_mille(500);
            if chosen && !(calm_views && fault.clouds_the_view()) {
                menu = menu.with(fault, fault.usual_rate());
            }
        }
        menu
    }

    /// With a fault at a rate, in cases of a thousand.
    pub fn with(mut self, fault: Fault, per_mille: u32) -> Self {
        self.rates.insert(fault, per_mille.min(1000));
        self
    }

    /// Without a fault.
    pub fn without(mut self, fault: Fault) -> Self {
        self.rates.remove(&fault);
        self
    }

    /// The rate of a fault, zero if it is off.
    pub fn rate(&self, fault: Fault) -> u32 {
        self.rates.get(&fault).copied().unwrap_or(0)
    }

    /// The faults that may happen.
    pub fn faults(&self) -> Vec<Fault> {
        Fault::ALL.into_iter().filter(|fault| self.rate(*fault) > 0).collect()
    }

    /// Whether every client sees the world as it is, and nobody but the client under test changes it or takes pods
    /// away: then even what depends on up-to-date knowledge must hold at every moment.
    pub fn leaves_the_view_clear(&self) -> bool {
        !Fault::ALL.into_iter().any(|fault| fault.clouds_the_view() && self.rate(fault) > 0)
    }
}

impl Fault {
    fn clouds_the_view(self) -> bool {
        matches!(
            self,
            Self::LateEvents
                | Self::OvertakenEvents
                | Self::LostEvents
                | Self::StaleList
                | Self::SlowPods
                | Self::DeadPods
                | Self::Edits
                | Self::Deletions
        )
    }
}

impl std::fmt::Display for Menu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.rates.is_empty() {
            return f.write_str("calm");
        }
        let shown: Vec<String> = self.rates.iter().map(|(fault, rate)| format!("{fault:?} {rate}")).collect();
        f.write_str(&shown.join(", "))
    }
}
