//! Scenario files: how a run goes, in YAML, read strictly.
//!
//! docs/simulate.md describes the fields. What a file does not say stays as it was.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use tidegate_manifest::read_value;

use crate::input::read_objects;
use crate::quantities::{duration, share, span};
use crate::setting::{Act, Assume, Deed, Expect, Given, ImageChange, Setting, VersionSetting};
use crate::words::{self, add_fault};

/// So large a scenario file may be.
const MOST_BYTES: u64 = 1024 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    seed: Option<u64>,
    until: Option<String>,
    pod_start: Option<String>,
    requests_per_second: Option<f64>,
    promote_after: Option<String>,
    expect: Option<ExpectWord>,
    assume_metrics: Option<AssumeWord>,
    #[serde(default)]
    images: Vec<Image>,
    #[serde(default)]
    versions: Vec<VersionEntry>,
    #[serde(default)]
    metrics: Vec<MetricEntry>,
    #[serde(default)]
    faults: Vec<FaultEntry>,
    faults_for: Option<String>,
    #[serde(default)]
    acts: Vec<ActEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum ExpectWord {
    Healthy,
    Aborted,
    Paused,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum AssumeWord {
    Success,
    Failure,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Image {
    rollout: Option<String>,
    container: Option<String>,
    image: String,
}

impl From<Image> for ImageChange {
    fn from(image: Image) -> Self {
        Self { rollout: image.rollout, container: image.container, image: image.image }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct VersionEntry {
    version: String,
    error_rate: Option<Value>,
    latency: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MetricEntry {
    template: String,
    metric: String,
    value: Option<Value>,
    #[serde(default)]
    values: Vec<ValueEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ValueEntry {
    after: String,
    value: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FaultEntry {
    name: String,
    per_mille: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ActEntry {
    at: String,
    /// As the flag has it, without the time.
    #[serde(rename = "do")]
    words: Option<String>,
    apply: Option<String>,
    patch: Option<PatchEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PatchEntry {
    api_version: String,
    kind: String,
    namespace: Option<String>,
    name: String,
    merge: Value,
}

/// Reads a scenario file into a setting. `namespace` is that of objects it applies that name none.
///
/// # Errors
/// The file, the field and what it must be.
pub fn read(path: &Path, namespace: &str, setting: &mut Setting) -> Result<(), String> {
    let file = path.display();
    let size = std::fs::metadata(path).map_err(|error| format!("{file}: cannot be read: {error}"))?.len();
    if size > MOST_BYTES {
        return Err(format!("{file}: is larger than {MOST_BYTES} bytes"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| format!("{file}: cannot be read: {error}"))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    read_text(&text, folder, namespace, setting).map_err(|error| format!("{file}: {error}"))
}

/// The same with the text and the folder that files are looked for in.
///
/// # Errors
/// The field and what it must be.
pub fn read_text(text: &str, folder: &Path, namespace: &str, setting: &mut Setting) -> Result<(), String> {
    let value = match read_value(text)? {
        // A file that says nothing changes nothing.
        Value::Null => Value::Object(serde_json::Map::new()),
        value => value,
    };
    let file: File =
        serde_path_to_error::deserialize(value).map_err(|error| match error.path().to_string().as_str() {
            "." => error.inner().to_string(),
            path => format!("{path}: {}", error.inner()),
        })?;
    take_plain(&file, setting)?;
    let acts = file.acts.into_iter().enumerate();
    let acts =
        acts.map(|(index, entry)| act(entry, folder, namespace).map_err(|error| format!("acts[{index}]{error}")));
    setting.acts.extend(acts.collect::<Result<Vec<Act>, String>>()?);
    setting.images.extend(file.images.into_iter().map(Into::into));
    for (index, entry) in file.versions.into_iter().enumerate() {
        setting.versions.push(version(entry).map_err(|error| format!("versions[{index}].{error}"))?);
    }
    for (index, entry) in file.metrics.into_iter().enumerate() {
        let (key, given) = metric(entry).map_err(|error| format!("metrics[{index}]{error}"))?;
        setting.metrics.insert(key, given);
    }
    for (index, entry) in file.faults.into_iter().enumerate() {
        let words = entry.per_mille.map_or_else(|| entry.name.clone(), |rate| format!("{}={rate}", entry.name));
        add_fault(&mut setting.faults, &words).map_err(|error| format!("faults[{index}]: {error}"))?;
    }
    Ok(())
}

fn take_plain(file: &File, setting: &mut Setting) -> Result<(), String> {
    let named = |field: &'static str| move |error: String| format!("{field}: {error}");
    if let Some(seed) = file.seed {
        setting.seed = seed;
    }
    if let Some(text) = &file.until {
        setting.until = Some(duration(text).map_err(named("until"))?);
    }
    if let Some(text) = &file.pod_start {
        setting.pod_start = span(text).map_err(named("podStart"))?;
    }
    if let Some(rate) = file.requests_per_second {
        if !(0.0..=1_000_000.0).contains(&rate) {
            return Err(format!("requestsPerSecond: {rate} is no number from 0 to 1000000"));
        }
        setting.requests_per_second = rate;
    }
    if let Some(text) = &file.promote_after {
        let read = if text == "never" { None } else { Some(duration(text).map_err(named("promoteAfter"))?) };
        setting.promote_after = read;
    }
    if let Some(text) = &file.faults_for {
        setting.faults_for = duration(text).map_err(named("faultsFor"))?;
    }
    match file.expect {
        Some(ExpectWord::Healthy) => setting.expect = Expect::Healthy,
        Some(ExpectWord::Aborted) => setting.expect = Expect::Aborted,
        Some(ExpectWord::Paused) => setting.expect = Expect::Paused,
        None => {}
    }
    match file.assume_metrics {
        Some(AssumeWord::Success) => setting.assume = Assume::Success,
        Some(AssumeWord::Failure) => setting.assume = Assume::Failure,
        None => {}
    }
    Ok(())
}

fn version(entry: VersionEntry) -> Result<VersionSetting, String> {
    let rate = match &entry.error_rate {
        None => None,
        Some(Value::Number(number)) => Some(share(&number.to_string())),
        Some(Value::String(text)) => Some(share(text)),
        Some(other) => Some(Err(format!("{other} is no share such as 5% or 0.05"))),
    };
    let error_rate = rate.transpose().map_err(|error| format!("errorRate: {error}"))?;
    let latency = entry.latency.as_deref().map(span).transpose().map_err(|error| format!("latency: {error}"))?;
    if error_rate.is_none() && latency.is_none() {
        return Err(format!("version: nothing is said about {}; add errorRate or latency", entry.version));
    }
    Ok(VersionSetting { version: words::version(&entry.version), error_rate, latency })
}

fn metric(entry: MetricEntry) -> Result<((String, String), Given), String> {
    let first = entry.value.map(|value| (std::time::Duration::ZERO, value));
    let mut all: Vec<_> = first.into_iter().collect();
    for (index, later) in entry.values.into_iter().enumerate() {
        let after = duration(&later.after).map_err(|error| format!(".values[{index}].after: {error}"))?;
        all.push((after, later.value));
    }
    if all.is_empty() {
        return Err(": say value, or values with after and value".to_owned());
    }
    all.sort_by_key(|(after, _)| *after);
    Ok(((entry.template, entry.metric), Given(all)))
}

fn act(entry: ActEntry, folder: &Path, namespace: &str) -> Result<Act, String> {
    let at = duration(&entry.at).map_err(|error| format!(".at: {error}"))?;
    match (entry.words, entry.apply, entry.patch) {
        (Some(text), None, None) => {
            words::act(&format!("{} {text}", entry.at)).map_err(|error| format!(".do: {error}"))
        }
        (None, Some(file), None) => {
            let objects = read_objects(&folder.join(&file), namespace).map_err(|error| format!(".apply: {error}"))?;
            Ok(Act { at, deed: Deed::Apply { file, objects } })
        }
        (None, None, Some(patch)) => {
            let PatchEntry { api_version, kind, namespace, name, merge } = patch;
            Ok(Act { at, deed: Deed::Patch { api_version, kind, namespace, name, merge } })
        }
        _ => Err(format!(": say one of do, apply and patch; do is one of {}", words::ACTS)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::setting::{Faults, Version};

    fn read(text: &str) -> Result<Setting, String> {
        let mut setting = Setting::default();
        read_text(text, Path::new("."), "default", &mut setting).map(|()| setting)
    }

    #[test]
    fn a_file_says_everything_that_flags_say() {
        let text = "
seed: 7
until: 2h
podStart: 1s-3s
requestsPerSecond: 50
promoteAfter: never
expect: aborted
assumeMetrics: failure
images:
  - {rollout: shop, container: main, image: 'shop:2'}
versions:
  - {version: new, errorRate: 5%, latency: 20ms-80ms}
metrics:
  - template: success-rate
    metric: rate
    value: 0.99
    values: [{after: 5m, value: 0.5}]
faults:
  - name: slow-pods
  - {name: crash, perMille: 20}
faultsFor: 5m
acts:
  - {at: 2m, do: abort shop}
  - at: 3m
    patch: {apiVersion: networking.istio.io/v1, kind: VirtualService, name: shop, merge: {spec: {}}}
";
        let setting = read(text).unwrap();
        assert_eq!((setting.seed, setting.until), (7, Some(Duration::from_secs(7200))));
        assert_eq!((setting.promote_after, setting.expect, setting.assume), (None, Expect::Aborted, Assume::Failure));
        assert_eq!(setting.versions[0].version, Version::New);
        assert_eq!(setting.versions[0].error_rate, Some(0.05));
        assert_eq!(setting.acts.len(), 2);
        assert!(matches!(&setting.faults, Faults::These(faults) if faults.len() == 2));
        let given = &setting.metrics[&("success-rate".to_owned(), "rate".to_owned())];
        assert_eq!(given.at(Duration::from_secs(10)), Some(&serde_json::json!(0.99)));
        assert_eq!(given.at(Duration::from_secs(400)), Some(&serde_json::json!(0.5)));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_field() {
        for (text, wanted) in [
            ("sead: 7", "unknown field `sead`"),
            ("seed: many", "seed: invalid type"),
            ("until: soon", "until: \"soon\" is no duration"),
            ("podStart: 10s-1s", "podStart: \"10s-1s\" ends before it begins"),
            ("versions: [{version: new}]", "versions[0].version: nothing is said"),
            ("versions: [{version: new, errorRate: 500%}]", "versions[0].errorRate: \"500%\" is no share"),
            ("faults: [{name: quake}]", "faults[0]: there is no fault \"quake\"; there are late-events"),
            ("acts: [{at: 2m}]", "acts[0]: say one of do, apply and patch"),
            ("acts: [{at: 2m, do: explode}]", "acts[0].do: \"2m explode\" is no act"),
            ("acts: [{at: 2m, apply: missing.yaml}]", "acts[0].apply: ./missing.yaml: cannot be read"),
            ("metrics: [{template: a, metric: b}]", "metrics[0]: say value"),
            ("expect: wonders", "expect: unknown variant"),
        ] {
            let told = read(text).unwrap_err();
            assert!(told.contains(wanted), "{text}: {told}");
        }
    }
}
