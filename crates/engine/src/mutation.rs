//! Deliberate faults, one at a time, for the question whether the safety runs would notice: `cargo xtask mutants`.
//!
//! Without the feature `mutations`, which only a command line switches on, [`is`] is `false` when the crate is compiled
//! and nothing of a fault is left in it.

macro_rules! mutations {
    ($(#[doc = $sentence:literal] $name:ident,)*) => {
        /// What is done wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mutation {
            $(#[doc = $sentence] $name,)*
        }

        #[cfg(feature = "mutations")]
        impl Mutation {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// What is done wrong, in one sentence.
            pub fn sentence(self) -> &'static str {
                match self {
                    $(Self::$name => $sentence.trim_ascii(),)*
                }
            }
        }
    };
}

mutations! {
    /// A pause step is over as soon as it has begun.
    EndsPausesAtOnce,
    /// A timed pause is over after half its time.
    EndsPausesEarly,
    /// A weight is passed whatever its pods do.
    PassesWeightsWithoutPods,
    /// A canary becomes stable with one pod too few.
    PromotesOnePodShort,
    /// A step that is done takes the next one with it.
    SkipsSteps,
    /// A new revision goes on at the step of the one before.
    KeepsTheStepOfTheLastRevision,
    /// `spec.paused` does not hold a step.
    StepsWhilePaused,
    /// One pod more than `maxUnavailable` may be missing.
    LowersTheFloor,
    /// Pods that are asked for count as pods that serve.
    CountsPodsThatDoNotServe,
    /// Old sets of a canary are emptied though their pods are needed.
    DrainsOldSetsAtOnce,
    /// A Service is sent to a set before that has pods.
    SendsServicesToNoPods,
    /// The active Service is switched before the new set is full.
    SwitchesBeforeTheSetIsFull,
    /// A blue-green update that waits for somebody does not wait.
    SkipsApproval,
    /// `autoPromotionSeconds` is over at once.
    EndsAutoPromotionEarly,
    /// The active Service is switched before the analysis has said anything.
    SwitchesWithoutAVerdict,
    /// An old blue-green set goes without its delay.
    ForgetsTheDelay,
    /// The stable set of a blue-green update loses a pod.
    ShrinksTheStableSet,
    /// The canary of an aborted update keeps its weight.
    KeepsTheWeightOfTheAborted,
    /// A new revision ends even an abort that nobody has acted on.
    ForgetsAnEarlyAbort,
    /// An aborted canary whose pods are there becomes stable.
    PromotesTheAborted,
    /// A full promotion undoes an abort that came after it.
    LetsFullPromotionWin,
    /// A deadline aborts though nobody asked for that.
    AbortsUnasked,
    /// The progress deadline is over after half its time.
    HalvesTheDeadline,
    /// All pods are restarted at once.
    RestartsAllAtOnce,
    /// Old sets beyond the history limit are deleted with their pods.
    DeletesSetsWithPods,
    /// The Deployment that lends its template is emptied before the Rollout is healthy.
    ReplacesTheDeploymentTooEarly,
    /// A pause is told with every status.
    TellsOfEveryLook,
    /// Conditions get a new time with every look.
    StampsConditionsAnew,
    /// The hash of a template changes with the rest of the spec.
    HashesMoreThanTheTemplate,
    /// The controller goes on with a plan after one of its writes has failed.
    GoesOnAfterAFailure,
    /// The controller leaves the Services of a Rollout that is gone as they are.
    KeepsServicesOfTheGone,
    /// The controller plans from a view that lacks its own last write.
    ForgetsOwnWrites,
}

#[cfg(feature = "mutations")]
static CHOSEN: std::sync::Mutex<Option<Mutation>> = std::sync::Mutex::new(None);

/// From now on this is done wrong in the whole process, or nothing.
#[cfg(feature = "mutations")]
pub fn choose(mutation: Option<Mutation>) {
    *CHOSEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = mutation;
}

/// Whether this is done wrong.
#[cfg(feature = "mutations")]
pub fn is(mutation: Mutation) -> bool {
    *CHOSEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner) == Some(mutation)
}

/// Whether this is done wrong: never.
#[cfg(not(feature = "mutations"))]
pub const fn is(_: Mutation) -> bool {
    false
}

/// The wrong one of two values if this is done wrong, else the right one.
pub(crate) fn pick<T>(mutation: Mutation, wrong: T, right: T) -> T {
    if is(mutation) { wrong } else { right }
}
