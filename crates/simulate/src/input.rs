//! The files a user gives: objects that are simulated, and what is left out.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tidegate_api::rollout::Rollout;
use tidegate_manifest::limits::MAX_FILE_BYTES;
use tidegate_manifest::{Document, DuplicateKeys, ManifestErrors, Object, Source};

/// So many files are read at most.
const MOST_FILES: usize = 2_000;
/// So many objects are simulated at most.
const MOST_OBJECTS: usize = 5_000;
/// Folders within folders.
const DEEPEST: usize = 16;

/// Kinds that are simulated, with the versions that are served.
const KINDS: [(&str, &str); 46] = [
    ("argoproj.io/v1alpha1", "Rollout"),
    ("argoproj.io/v1alpha1", "AnalysisTemplate"),
    ("argoproj.io/v1alpha1", "ClusterAnalysisTemplate"),
    ("argoproj.io/v1alpha1", "AnalysisRun"),
    ("argoproj.io/v1alpha1", "Experiment"),
    ("v1", "ConfigMap"),
    ("v1", "Namespace"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Pod"),
    ("v1", "Secret"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("batch/v1", "Job"),
    ("networking.k8s.io/v1", "Ingress"),
    ("networking.k8s.io/v1", "IngressClass"),
    ("policy/v1", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("networking.istio.io/v1", "VirtualService"),
    ("networking.istio.io/v1beta1", "VirtualService"),
    ("networking.istio.io/v1alpha3", "VirtualService"),
    ("networking.istio.io/v1", "DestinationRule"),
    ("networking.istio.io/v1beta1", "DestinationRule"),
    ("networking.istio.io/v1alpha3", "DestinationRule"),
    ("networking.istio.io/v1", "Gateway"),
    ("networking.istio.io/v1beta1", "Gateway"),
    ("networking.istio.io/v1alpha3", "Gateway"),
    ("traefik.io/v1alpha1", "TraefikService"),
    ("split.smi-spec.io/v1alpha1", "TrafficSplit"),
    ("gateway.networking.k8s.io/v1", "HTTPRoute"),
    ("gateway.networking.k8s.io/v1", "TCPRoute"),
    ("getambassador.io/v2", "Mapping"),
    ("apisix.apache.org/v2", "ApisixRoute"),
    ("appmesh.k8s.aws/v1beta2", "VirtualService"),
    ("appmesh.k8s.aws/v1beta2", "VirtualRouter"),
    ("appmesh.k8s.aws/v1beta2", "VirtualNode"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "ControllerRevision"),
    ("coordination.k8s.io/v1", "Lease"),
    ("discovery.k8s.io/v1", "EndpointSlice"),
];

/// Kinds without a namespace.
const CLUSTER_WIDE: [&str; 5] =
    ["ClusterAnalysisTemplate", "Namespace", "IngressClass", "ClusterRole", "ClusterRoleBinding"];

/// Why the input cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A file is not what it should be.
    #[error("{0}")]
    Manifest(ManifestErrors),
    /// A folder cannot be read.
    #[error("{path}: {error}")]
    Unreadable {
        /// Which.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// Something else, one line each.
    #[error("{}", .0.join("\n"))]
    Said(Vec<String>),
}

impl InputError {
    pub(crate) fn said(text: impl Into<String>) -> Self {
        Self::Said(vec![text.into()])
    }
}

/// An object and the file it is from.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub file: String,
    pub object: Value,
}

/// Kind, namespace (empty where there is none) and name.
pub(crate) type Identity = (String, String, String);

/// Everything the files hold.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// By kind, namespace and name.
    pub(crate) objects: BTreeMap<Identity, Given>,
    /// Their Rollouts once more, read.
    pub(crate) rollouts: Vec<Rollout>,
    /// What is not simulated, in words.
    pub(crate) left_out: Vec<String>,
    /// What was not simulated, by kind and name.
    pub(crate) left_out_kinds: Vec<(String, String, String)>,
    /// What is likely to be a mistake.
    pub(crate) warnings: Vec<String>,
    /// What was made up for the run.
    pub(crate) assumptions: Vec<String>,
    /// The namespace of objects that name none.
    pub(crate) namespace: String,
}

/// Reads files and folders.
pub struct Reader<'a> {
    /// The namespace of objects that name none.
    pub namespace: &'a str,
    /// Where `-` is read from.
    pub stdin: &'a mut dyn Read,
}

impl Reader<'_> {
    /// Reads everything and checks that the Rollouts can be simulated.
    ///
    /// # Errors
    /// Files that cannot be read, and what the Rollouts name and nobody gave.
    pub fn read(&mut self, paths: &[PathBuf]) -> Result<Input, InputError> {
        let mut input = Input { namespace: self.namespace.to_owned(), ..Input::default() };
        for source in self.sources(paths)? {
            input.take_in(&source)?;
        }
        if input.rollouts.is_empty() {
            let read: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            let left =
                if input.left_out.is_empty() { String::new() } else { format!(" ({})", input.left_out.join("; ")) };
            return Err(InputError::said(format!("{}: there is no Rollout to simulate{left}", read.join(", "))));
        }
        input.check()?;
        input.assume();
        Ok(input)
    }

    fn sources(&mut self, paths: &[PathBuf]) -> Result<Vec<Source>, InputError> {
        let mut files = Vec::new();
        for path in paths {
            if path.as_os_str() == "-" {
                let mut bytes = Vec::new();
                let limit = MAX_FILE_BYTES as u64 + 1;
                let read = Read::take(&mut *self.stdin, limit).read_to_end(&mut bytes);
                read.map_err(|error| InputError::Unreadable { path: "-".to_owned(), error })?;
                files.push(Source::new("stdin", bytes));
                continue;
            }
            let mut found = Vec::new();
            if path.is_dir() {
                collect(path, DEEPEST, &mut found)?;
                if found.is_empty() {
                    let text = format!("{}: there is no .yaml, .yml or .json file in it", path.display());
                    return Err(InputError::said(text));
                }
            } else {
                found.push(path.clone());
            }
            if files.len() + found.len() > MOST_FILES {
                return Err(InputError::said(format!("{}: more than {MOST_FILES} files", path.display())));
            }
            for file in found {
                files.push(Source::read(&file).map_err(InputError::Manifest)?);
            }
        }
        Ok(files)
    }
}

/// Manifests of a folder and those below, in order.
fn collect(folder: &Path, deeper: usize, found: &mut Vec<PathBuf>) -> Result<(), InputError> {
    let unreadable = |error| InputError::Unreadable { path: folder.display().to_string(), error };
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        entries.push(entry.map_err(unreadable)?.path());
    }
    entries.sort();
    for entry in entries {
        let is_hidden = entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let is_manifest =
            entry.extension().is_some_and(|end| ["yaml", "yml", "json"].iter().any(|known| end == *known));
        if is_hidden {
            continue;
        }
        if entry.is_dir() {
            if deeper == 0 {
                return Err(InputError::said(format!("{}: more than {DEEPEST} folders deep", entry.display())));
            }
            collect(&entry, deeper - 1, found)?;
        } else if is_manifest {
            found.push(entry);
        }
        if found.len() > MOST_FILES {
            return Err(InputError::said(format!("{}: more than {MOST_FILES} files", folder.display())));
        }
    }
    Ok(())
}

impl Input {
    fn take_in(&mut self, source: &Source) -> Result<(), InputError> {
        for document in source.all_documents(DuplicateKeys::Refuse).map_err(InputError::Manifest)? {
            let is_list = document.kind().map_err(InputError::Manifest)? == "List" && document.group().is_empty();
            if !is_list {
                self.take_document(&document)?;
                continue;
            }
            let items = document.value().get("items").and_then(Value::as_array).cloned().unwrap_or_default();
            for (index, item) in items.iter().enumerate() {
                let name = format!("{}, items[{index}]", document.file());
                self.take_in(&Source::new(name, item.to_string()))?;
            }
        }
        Ok(())
    }

    fn take_document(&mut self, document: &Document) -> Result<(), InputError> {
        let kind = document.kind().map_err(InputError::Manifest)?.to_owned();
        let version = document.api_version().unwrap_or_default().to_owned();
        let decoded = document.decode_object().map_err(InputError::Manifest)?;
        let name = document.name().unwrap_or_default().to_owned();
        if !KINDS.contains(&(version.as_str(), kind.as_str())) {
            let shown = if version.is_empty() { "no apiVersion".to_owned() } else { version };
            self.left_out.push(format!("{kind} {name} ({shown}, {}) is not simulated", document.file()));
            self.left_out_kinds.push((kind, name, shown));
            return Ok(());
        }
        document.check_kubernetes().map_err(InputError::Manifest)?;
        self.warnings.extend(document.warnings().iter().map(ToString::to_string));
        if name.is_empty() {
            let text =
                format!("{}, document {}: metadata.name: a {kind} needs a name", document.file(), document.number());
            return Err(InputError::said(text));
        }
        let is_wide = CLUSTER_WIDE.contains(&kind.as_str());
        let namespace = document.namespace().unwrap_or(&self.namespace).to_owned();
        let namespace = if is_wide { String::new() } else { namespace };
        let object = cleaned(document.value(), &namespace);
        if let Some(Object::Rollout(mut rollout)) = decoded {
            rollout.metadata.namespace = Some(namespace.clone());
            rollout.status = None;
            self.rollouts.push(*rollout);
        }
        self.add((kind, namespace, name), Given { file: document.file().to_owned(), object })
    }

    fn add(&mut self, identity: Identity, given: Given) -> Result<(), InputError> {
        if let Some(first) = self.objects.get(&identity) {
            let (kind, _, name) = &identity;
            let text = format!("{}: {kind} {name} is there twice; the other one is in {}", given.file, first.file);
            return Err(InputError::said(text));
        }
        if self.objects.len() >= MOST_OBJECTS {
            return Err(InputError::said(format!("{}: more than {MOST_OBJECTS} objects", given.file)));
        }
        self.objects.insert(identity, given);
        Ok(())
    }

    /// Makes an object up, and says why.
    pub(crate) fn make_up(&mut self, object: Value, why: String) {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        let identity = (kind, text("namespace"), text("name"));
        if !self.objects.contains_key(&identity) {
            self.assumptions.push(why);
            self.objects.insert(identity, Given { file: "assumed".to_owned(), object });
        }
    }

    pub(crate) fn get(&self, kind: &str, namespace: &str, name: &str) -> Option<&Value> {
        let identity = (kind.to_owned(), namespace.to_owned(), name.to_owned());
        self.objects.get(&identity).map(|given| &given.object)
    }

    pub(crate) fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = (&'a Identity, &'a Value)> {
        let all = self.objects.iter().filter(move |((found, _, _), _)| found == kind);
        all.map(|(identity, given)| (identity, &given.object))
    }

    /// Everything in the order it is made: what others refer to first, Rollouts last.
    pub(crate) fn in_order(&self) -> Vec<&Value> {
        let rank = |kind: &str| match kind {
            "Namespace" => 0,
            "Rollout" => 3,
            "HorizontalPodAutoscaler" | "AnalysisRun" | "Experiment" | "Pod" | "Job" => 4,
            "Deployment" => 2,
            _ => 1,
        };
        let mut all: Vec<(&Identity, &Given)> = self.objects.iter().collect();
        all.sort_by_key(|(identity, _)| (rank(&identity.0), *identity));
        all.into_iter().map(|(_, given)| &given.object).collect()
    }

    /// The Rollouts by namespace and name.
    pub fn rollout_names(&self) -> Vec<(String, String)> {
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        self.rollouts.iter().map(|rollout| (text(&rollout.metadata.namespace), text(&rollout.metadata.name))).collect()
    }

    /// Namespaces that something lives in.
    pub(crate) fn namespaces(&self) -> std::collections::BTreeSet<&str> {
        let named = self.objects.keys().map(|(_, namespace, _)| namespace.as_str());
        named.filter(|namespace| !namespace.is_empty()).collect()
    }
}

/// The object as a user would apply it: what a cluster adds to it is dropped.
fn cleaned(object: &Value, namespace: &str) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
        let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(serde_json::Map::new()));
        if let Some(metadata) = metadata.as_object_mut() {
            for field in [
                "uid",
                "resourceVersion",
                "creationTimestamp",
                "generation",
                "managedFields",
                "selfLink",
                "ownerReferences",
            ] {
                metadata.remove(field);
            }
            if !namespace.is_empty() {
                metadata.insert("namespace".to_owned(), namespace.into());
            }
        }
    }
    object
}

/// Objects of a file that is applied during a run.
///
/// # Errors
/// What cannot be read or is not simulated.
pub(crate) fn read_objects(path: &Path, namespace: &str) -> Result<Vec<Value>, String> {
    let mut input = Input { namespace: namespace.to_owned(), ..Input::default() };
    let source = Source::read(path).map_err(|error| error.to_string())?;
    input.take_in(&source).map_err(|error| error.to_string())?;
    if let Some(left) = input.left_out.first() {
        return Err(left.clone());
    }
    Ok(input.in_order().into_iter().cloned().collect())
}
