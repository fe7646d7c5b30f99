//! Routes that steps ask for.

use tidegate_api::rollout::{SetHeaderRoute, SetMirrorRoute};

/// A header or mirror route as a step describes it.
#[derive(Clone, Debug, PartialEq)]
pub enum ManagedRoute {
    /// By header.
    Header(SetHeaderRoute),
    /// A copy of requests.
    Mirror(SetMirrorRoute),
}

impl ManagedRoute {
    /// Header or mirror.
    pub fn kind(&self) -> ManagedKind {
        match self {
            Self::Header(_) => ManagedKind::Header,
            Self::Mirror(_) => ManagedKind::Mirror,
        }
    }
}

/// Header or mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagedKind {
    /// By header.
    Header,
    /// A copy of requests.
    Mirror,
}

impl ManagedKind {
    /// As events call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Header => "headerRoute",
            Self::Mirror => "mirrorRoute",
        }
    }
}
