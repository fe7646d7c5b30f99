//! Admission: asked by the API server before it stores an object. Off unless a port is given.
//!
//! Every replica answers, leader or not, so it watches Rollouts by itself and keeps of them only what routes need.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use http::StatusCode;
use kube::{Api, Client};
use tidegate_admission::{Answer as Verdict, Named, Request};
use tidegate_api::rollout::Rollout;
use tidegate_controller::Options;
use tidegate_runtime::admin::{Admin, Answer, Pages};
use tidegate_runtime::certificates::Certificates;
use tidegate_runtime::{Index, Store, Watch, watch};
use tokio::task::JoinSet;
use tracing::info;

use crate::flags::Flags;
use crate::process::StartError;

/// Rollouts by the objects they write.
const BY_NAMED: &str = "named";
const FLAG: &str = "--admission-port";

/// What runs for it; ends when it is dropped.
pub(crate) struct Admission(Option<(Admin, JoinSet<()>)>);

impl Admission {
    /// Answers from now on, if it was asked for.
    pub(crate) async fn start(flags: &Flags, client: &Client, options: &Options) -> Result<Self, StartError> {
        let Some(port) = flags.admission_port else { return Ok(Self(None)) };
        let certificates = Certificates::read(Path::new(&flags.admission_certificates))?;
        let rollouts = Store::new(&[Index { name: BY_NAMED, of: names }]).keeping(keep_what_routes_need);
        let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        let admin = Admin::start_secured(address, pages(rollouts.clone()), certificates.clone()).await;
        let admin = admin.map_err(|source| StartError::Port { port, flag: FLAG, source })?;
        info!("Starting Admission Server at {}", admin.address());
        let api = match &options.namespace {
            Some(namespace) => Api::namespaced(client.clone(), namespace),
            None => Api::all(client.clone()),
        };
        let how = Watch { labels: Some(options.our_label()), relist_after: options.resync };
        let mut tasks = JoinSet::new();
        tasks.spawn(watch(api, how, rollouts, |_| {}));
        tasks.spawn(certificates.follow());
        Ok(Self(Some((admin, tasks))))
    }

    /// Lets running requests finish.
    pub(crate) async fn stop(self) {
        if let Some((admin, _)) = self.0 {
            admin.stop().await;
        }
    }
}

fn pages(rollouts: Store<Rollout>) -> Pages {
    Pages::new().post("/validate", |text| answer(text, tidegate_admission::check)).post("/guard", move |text| {
        answer(text, |request| {
            let found = Named::of(request).map(|named| rollouts.find(BY_NAMED, &named.key()));
            tidegate_admission::guard(request, &found.unwrap_or_default())
        })
    })
}

fn answer(text: &str, judge: impl Fn(&Request) -> Verdict) -> Answer {
    match Request::read(text.as_bytes()) {
        Ok(request) => Answer::json(&judge(&request).review(&request)),
        Err(error) => Answer::text(StatusCode::BAD_REQUEST, format!("{error}\n")),
    }
}

fn names(rollout: &Rollout) -> Vec<String> {
    tidegate_admission::named(rollout).iter().map(Named::key).collect()
}

/// The pod template is by far the largest part of a Rollout.
fn keep_what_routes_need(rollout: &mut Rollout) {
    rollout.spec.template = None;
    rollout.metadata.annotations = None;
    rollout.metadata.managed_fields = None;
}
