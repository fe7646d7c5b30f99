//! What a pod asks of the agent: annotations read into a [`Behaviour`].
//!
//! Every key is read strictly. A typo or an impossible value is reported on the pod instead of being ignored, because
//! a test whose script is silently dropped passes for the wrong reason.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};

use crate::duration::parse_duration;

/// Prefix of every annotation that the agent reads.
pub const PREFIX: &str = "node-agent.tidegate.dev/";

/// Shortest pause before a crashed container is started again; keeps a scripted crash loop from becoming a busy loop.
pub const SHORTEST_BACKOFF: Duration = Duration::from_millis(100);

/// Longest duration an annotation may ask for; keeps all later arithmetic far from overflow.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// Delays used when a pod asks for nothing.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// From the pod being seen on its node to its containers running.
    pub start_delay: Duration,
    /// Up to so much longer; each pod gets a fixed value.
    pub start_spread: Duration,
    /// Shortest stop delay; each pod gets a fixed value between the two.
    pub stop_delay_min: Duration,
    /// Longest stop delay.
    pub stop_delay_max: Duration,
    /// How long a run-to-completion container runs when it has no process of its own.
    pub run_for: Duration,
    /// First pause before a crashed container is started again; doubles up to five minutes.
    pub crash_backoff: Duration,
    /// Whether commands of run-to-completion pods are run as local processes.
    pub processes: bool,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            start_delay: Duration::from_millis(500),
            start_spread: Duration::ZERO,
            stop_delay_min: Duration::from_secs(1),
            stop_delay_max: Duration::from_secs(3),
            run_for: Duration::from_secs(1),
            crash_backoff: Duration::from_secs(10),
            processes: true,
        }
    }
}

/// How long a container runs and how it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// A server: runs until the pod is deleted.
    Forever,
    /// Ends after `lasting` with `code`; the first `times` runs do so, the next one ends well or keeps running.
    Scripted {
        /// Length of one run.
        lasting: Duration,
        /// Exit code of a scripted end.
        code: i32,
        /// How many runs end this way; `None` means all.
        times: Option<u32>,
        /// Whether the run after the scripted ones is a server (`true`) or exits with 0.
        then_serves: bool,
    },
    /// The command is run as a local process, whose exit code counts.
    Process,
}

/// What one container does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContainerBehaviour {
    /// Length and end of each run.
    pub run: Run,
    /// How long pulling the image fails: `None` not at all, `Some(None)` for ever.
    pub pull_error: Option<Option<Duration>>,
    /// From the container's start to the end of its startup probe.
    pub started_after: Duration,
    /// From the container's start to its being ready.
    pub ready_after: Duration,
    /// Never ready, whatever the probes say.
    pub never_ready: bool,
    /// From the first start of the container to its becoming unready.
    pub unready_after: Option<Duration>,
    /// How long it then stays unready; `None` means for ever.
    pub unready_for: Option<Duration>,
    /// First pause before a restart.
    pub crash_backoff: Duration,
}

/// What the agent does with a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// From being seen on the node to starting containers (or to the first failing image pull).
    pub start_delay: Duration,
    /// From the deletion to the pod's removal, at most the grace period.
    pub stop_delay: Duration,
    /// Never bound to a node.
    pub unschedulable: bool,
    /// One entry per container of the pod, in order.
    pub containers: Vec<ContainerBehaviour>,
}

/// An annotation that cannot be obeyed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("annotation {PREFIX}{key}: {value:?} is not accepted, it must be {allowed}")]
pub struct BadAnnotation {
    /// The key without its prefix.
    pub key: String,
    /// The value that was found.
    pub value: String,
    /// The form that is accepted.
    pub allowed: String,
}

const DURATION_FORM: &str = "a duration such as \"500ms\", \"2s\", \"1m30s\" or \"2\" (seconds), at most one year";
const KEYS: [&str; 15] = [
    "start-delay",
    "stop-delay",
    "ready-after",
    "never-ready",
    "unready-after",
    "unready-for",
    "crash-after",
    "crash-times",
    "crash-backoff",
    "exit-code",
    "run-for",
    "pull-error",
    "pull-error-for",
    "unschedulable",
    "container",
];

/// Reads the annotations, probes and images of `pod`.
///
/// # Errors
/// Names the first annotation (in alphabetical order of checks) whose value or key is not understood.
pub fn read(pod: &Pod, defaults: &Defaults) -> Result<Behaviour, BadAnnotation> {
    let empty = PodSpec::default();
    let spec = pod.spec.as_ref().unwrap_or(&empty);
    let keys = Keys::of(pod)?;
    let scripted = scripted_container(&keys, spec)?;
    let script = Script::read(&keys)?;
    let finite = runs_to_completion(pod, spec);
    let containers = spec
        .containers
        .iter()
        .enumerate()
        .map(|(index, container)| {
            let script = if index == scripted { script } else { Script::default() };
            container_behaviour(container, script, finite, spec, defaults)
        })
        .collect();
    Ok(Behaviour {
        start_delay: keys.duration("start-delay")?.unwrap_or_else(|| default_start_delay(pod, defaults)),
        stop_delay: keys.duration("stop-delay")?.unwrap_or_else(|| default_stop_delay(pod, defaults)),
        unschedulable: keys.flag("unschedulable")?,
        containers,
    })
}

/// The annotations of one pod under [`PREFIX`], prefix removed.
struct Keys(BTreeMap<String, String>);

impl Keys {
    fn of(pod: &Pod) -> Result<Self, BadAnnotation> {
        let mut found = BTreeMap::new();
        for (name, value) in pod.metadata.annotations.iter().flatten() {
            let Some(key) = name.strip_prefix(PREFIX) else { continue };
            if !KEYS.contains(&key) {
                return Err(bad(key, value, format!("removed: there is no such key, only {}", KEYS.join(", "))));
            }
            found.insert(key.to_owned(), value.trim().to_owned());
        }
        Ok(Self(found))
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    fn duration(&self, key: &str) -> Result<Option<Duration>, BadAnnotation> {
        self.get(key)
            .map(|value| {
                parse_duration(value).filter(|d| *d <= LONGEST).ok_or_else(|| bad(key, value, DURATION_FORM.to_owned()))
            })
            .transpose()
    }

    fn flag(&self, key: &str) -> Result<bool, BadAnnotation> {
        match self.get(key) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(value) => Err(bad(key, value, "\"true\" or \"false\"".to_owned())),
        }
    }

    fn number(&self, key: &str, range: std::ops::RangeInclusive<u32>) -> Result<Option<u32>, BadAnnotation> {
        self.get(key)
            .map(|value| {
                value
                    .parse()
                    .ok()
                    .filter(|n| range.contains(n))
                    .ok_or_else(|| bad(key, value, format!("a whole number from {} to {}", range.start(), range.end())))
            })
            .transpose()
    }
}

/// The keys that concern one container.
#[derive(Clone, Copy, Default)]
struct Script {
    ready_after: Option<Duration>,
    never_ready: bool,
    unready_after: Option<Duration>,
    unready_for: Option<Duration>,
    crash_after: Option<Duration>,
    crash_times: Option<u32>,
    crash_backoff: Option<Duration>,
    exit_code: Option<u32>,
    run_for: Option<Duration>,
    pull_error: bool,
    pull_error_for: Option<Duration>,
}

impl Script {
    fn read(keys: &Keys) -> Result<Self, BadAnnotation> {
        Ok(Self {
            ready_after: keys.duration("ready-after")?,
            never_ready: keys.flag("never-ready")?,
            unready_after: keys.duration("unready-after")?,
            unready_for: keys.duration("unready-for")?,
            crash_after: keys.duration("crash-after")?,
            crash_times: keys.number("crash-times", 0..=1_000_000)?,
            crash_backoff: keys.duration("crash-backoff")?,
            exit_code: keys.number("exit-code", 0..=255)?,
            run_for: keys.duration("run-for")?,
            pull_error: keys.flag("pull-error")?,
            pull_error_for: keys.duration("pull-error-for")?,
        })
    }

    fn ends(&self) -> bool {
        self.crash_after.is_some() || self.run_for.is_some()
    }
}

fn scripted_container(keys: &Keys, spec: &PodSpec) -> Result<usize, BadAnnotation> {
    let Some(name) = keys.get("container") else { return Ok(0) };
    spec.containers.iter().position(|c| c.name == name).ok_or_else(|| {
        let names: Vec<_> = spec.containers.iter().map(|c| c.name.as_str()).collect();
        bad("container", name, format!("the name of a container of the pod: {}", names.join(", ")))
    })
}

fn container_behaviour(
    container: &Container,
    script: Script,
    finite: bool,
    spec: &PodSpec,
    defaults: &Defaults,
) -> ContainerBehaviour {
    let delay = |probe: Option<&k8s_openapi::api::core::v1::Probe>| {
        let seconds = probe.and_then(|p| p.initial_delay_seconds).unwrap_or(0);
        Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
    };
    let started_after = delay(container.startup_probe.as_ref());
    let probed = delay(container.readiness_probe.as_ref()).max(started_after);
    let fails_to_pull =
        script.pull_error || script.pull_error_for.is_some() || is_bad_image(container.image.as_deref());
    ContainerBehaviour {
        run: run_of(container, script, finite, spec, defaults),
        pull_error: fails_to_pull.then_some(script.pull_error_for),
        started_after,
        ready_after: script.ready_after.unwrap_or(probed),
        never_ready: script.never_ready,
        unready_after: script.unready_after,
        unready_for: script.unready_for,
        crash_backoff: script.crash_backoff.unwrap_or(defaults.crash_backoff).max(SHORTEST_BACKOFF),
    }
}

fn run_of(container: &Container, script: Script, finite: bool, spec: &PodSpec, defaults: &Defaults) -> Run {
    let has_command = container.command.as_ref().is_some_and(|c| !c.is_empty());
    let scripted = script.ends() || script.exit_code.is_some();
    let always = restart_policy(spec) == "Always";
    if finite && !scripted && has_command && defaults.processes {
        return Run::Process;
    }
    if script.ends() || (!always && (finite || scripted)) {
        let crashes = script.crash_after.is_some();
        return Run::Scripted {
            lasting: script.crash_after.or(script.run_for).unwrap_or(defaults.run_for),
            code: script.exit_code.map_or(i32::from(crashes), |code| i32::try_from(code).unwrap_or(1)),
            times: script.crash_times,
            then_serves: always || !finite,
        };
    }
    Run::Forever
}

/// The pod's restart policy, with the API's default.
pub(crate) fn restart_policy(spec: &PodSpec) -> &str {
    spec.restart_policy.as_deref().unwrap_or("Always")
}

/// Pods of Jobs, and pods that do not restart and say what to run.
fn runs_to_completion(pod: &Pod, spec: &PodSpec) -> bool {
    let of_job = pod.metadata.owner_references.iter().flatten().any(|o| o.kind == "Job" && o.controller == Some(true));
    let has_command = spec.containers.iter().any(|c| c.command.as_ref().is_some_and(|c| !c.is_empty()));
    restart_policy(spec) != "Always" && (of_job || has_command)
}

/// Images that no registry has: the name says so, so that a test needs no annotation.
fn is_bad_image(image: Option<&str>) -> bool {
    image.is_some_and(|image| image.contains("bad-image") || image.ends_with(":does-not-exist"))
}

/// A start delay that is the same each time for one pod and differs between pods.
fn default_start_delay(pod: &Pod, defaults: &Defaults) -> Duration {
    let millis = u64::try_from(defaults.start_spread.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    defaults.start_delay + Duration::from_millis(crate::fnv1a(format!("start {name}").as_bytes()) % millis)
}

/// A stop delay that is the same each time for one pod and differs between pods, as on a real node.
fn default_stop_delay(pod: &Pod, defaults: &Defaults) -> Duration {
    let spread = defaults.stop_delay_max.saturating_sub(defaults.stop_delay_min);
    let millis = u64::try_from(spread.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    defaults.stop_delay_min + Duration::from_millis(crate::fnv1a(name.as_bytes()) % millis)
}

fn bad(key: &str, value: &str, allowed: String) -> BadAnnotation {
    // An annotation may be a quarter of a megabyte; a message must stay readable.
    let value = value.chars().take(60).collect();
    BadAnnotation { key: key.to_owned(), value, allowed }
}
