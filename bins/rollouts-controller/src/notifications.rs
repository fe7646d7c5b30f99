//! How notifications are sent: what the flags and the environment say.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidegate_clock::Clock;
use tidegate_controller::Notifications;
use tidegate_delivery::Network;
use tidegate_providers::client::Roots;
use tidegate_providers::{Client, Proxies};

use crate::analysis;
use crate::flags::Flags;
use crate::process::StartError;

/// Hosts that notifications may reach, by commas.
const ALLOW: &str = "TIDEGATE_NOTIFICATION_ALLOW_HOSTS";
/// Hosts that they may not.
const DENY: &str = "TIDEGATE_NOTIFICATION_DENY_HOSTS";

/// What the flags and the environment ask for.
pub(crate) fn settings(flags: &Flags, namespace: &str, clock: Clock) -> Result<Notifications, StartError> {
    let environment: BTreeMap<String, String> = std::env::vars().collect();
    let hosts = analysis::hosts(&environment, ALLOW, DENY)?;
    let client = Client::new(hosts, Proxies::from_environment(&environment), Roots::System)
        .map_err(|error| StartError::Outgoing(error.to_string()))?;
    Ok(Notifications {
        carrier: Arc::new(Network::new(client, clock)),
        namespace: namespace.to_owned(),
        self_service: flags.self_service_notification_enabled,
    })
}
