//! Traffic routers besides Istio as users set them up: their kinds, and for each a Rollout's part and its objects.

mod kinds;
mod ways;
mod weights;

pub use kinds::crds;
pub(crate) use kinds::is_path_of_one;
pub use ways::{
    alb, all, ambassador, apisix, app_mesh, gateway_api, gateway_api_tcp, more_gateway_api, nginx, smi, traefik,
};
pub use weights::{splits, without_weights};

use serde_json::Value;

/// How things are called.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The Rollout, and whatever users name for it.
    pub own: &'a str,
    /// The Service of the stable version.
    pub stable: &'a str,
    /// The Service of the canary.
    pub canary: &'a str,
}

/// A shop with Services that are called what they are.
pub const SHOP: Names<'static> = Names { own: "shop", stable: "stable", canary: "canary" };

/// One router: how a Rollout names it, and its objects as users write them.
pub struct Way {
    /// Its name.
    pub name: &'static str,
    /// What stands under `trafficRouting`.
    pub routing: Value,
    /// What users have made.
    pub objects: Vec<Value>,
    /// Where the canary's weight is.
    pub place: Place,
}

/// Where the canary's weight is.
#[derive(Clone, Debug)]
pub struct Place {
    /// The kind of object.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// What the canary is called there.
    pub canary: String,
}

impl Place {
    /// The canary's weight in the object.
    pub fn weight(&self, object: &Value) -> Option<i64> {
        splits(object).into_iter().flatten().find(|(name, _)| *name == self.canary).map(|(_, weight)| weight)
    }
}
