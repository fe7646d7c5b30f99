//! Who and where we are.

use std::path::Path;

use ring::rand::{SecureRandom, SystemRandom};

/// The namespace of the pod's service account.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/// Where the install manifests put the controller.
const DEFAULT_NAMESPACE: &str = "argo-rollouts";
const LOCK: &str = "argo-rollouts-controller-lock";

/// The system has no random numbers.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random numbers, and without them two replicas could not tell each other apart")]
pub(crate) struct NoRandomness;

/// A name no other candidate has: `<hostname>_<uuid>`.
pub(crate) fn of_this_process() -> Result<String, NoRandomness> {
    let mut random = [0; 16];
    SystemRandom::new().fill(&mut random).map_err(|_| NoRandomness)?;
    Ok(format!("{}_{}", hostname(), uuid(random)))
}

fn hostname() -> String {
    let known = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| std::env::var("HOSTNAME").ok());
    known.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

/// Version 4 of RFC 9562.
fn uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| hex[from..to].concat();
    [part(0, 4), part(4, 6), part(6, 8), part(8, 10), part(10, 16)].join("-")
}

/// The namespace the controller lives in: that is where its lease is.
pub(crate) fn namespace() -> String {
    decide_namespace(std::env::var("POD_NAMESPACE").ok(), Path::new(NAMESPACE_FILE))
}

fn decide_namespace(said: Option<String>, file: &Path) -> String {
    let read = || std::fs::read_to_string(file).ok();
    let known = said.filter(|name| !name.is_empty()).or_else(read);
    known
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned())
}

/// The name of the lease: controllers for different instances do not exclude each other.
pub(crate) fn lock(instance_id: &str) -> String {
    if instance_id.is_empty() { LOCK.to_owned() } else { format!("{LOCK}-{instance_id}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_differ_and_have_the_form_of_a_uuid() {
        let (one, other) = (of_this_process().unwrap(), of_this_process().unwrap());
        assert_ne!(one, other);
        let (_, id) = one.rsplit_once('_').unwrap();
        assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert_eq!(uuid([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }

    #[test]
    fn the_namespace_is_said_or_read_or_the_usual_one() {
        let none = Path::new("/nowhere/at/all");
        let said = |name: &str| Some(name.to_owned());
        assert_eq!(decide_namespace(said("here"), none), "here");
        assert_eq!(decide_namespace(said(""), none), "argo-rollouts");
        assert_eq!(decide_namespace(None, none), "argo-rollouts");
        let file = std::env::temp_dir().join(format!("tidegate-namespace-{}", std::process::id()));
        std::fs::write(&file, "there\n").unwrap();
        assert_eq!(decide_namespace(None, &file), "there");
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn an_instance_has_a_lease_of_its_own() {
        assert_eq!(lock(""), "argo-rollouts-controller-lock");
        assert_eq!(lock("blue"), "argo-rollouts-controller-lock-blue");
    }
}
