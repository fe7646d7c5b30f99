//! Tables: what `kubectl get` shows, a row per object. Which columns a kind has and what is in them is known to the server
//! alone; kubectl only lays them out.

mod age;
mod custom;
mod events;
mod network;
mod objects;
mod path;
mod pods;
mod workloads;

use bytes::Bytes;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) use custom::PrinterColumn;

use crate::object::{name, text};
use crate::registry::Resource;
use crate::store::write_shown;
use crate::stored::{Form, Object, Shown};

/// A column of a built-in kind: name, type, and whether only a wide table has it.
type Column = (&'static str, &'static str, bool);

/// How a built-in kind is shown.
struct Layout {
    columns: &'static [Column],
    cells: fn(&Value, Timestamp) -> Vec<Value>,
}

const NAME: Column = ("Name", "string", false);
const AGE: Column = ("Age", "string", false);

/// A column that every table has.
const fn text_column(name: &'static str) -> Column {
    (name, "string", false)
}

const fn number_column(name: &'static str) -> Column {
    (name, "integer", false)
}

/// A column of `-o wide`.
const fn wide(name: &'static str) -> Column {
    (name, "string", true)
}

fn layout(resource: &Resource) -> &'static Layout {
    match resource.id.as_str() {
        "pods" => &pods::PODS,
        "replicasets.apps" => &workloads::REPLICA_SETS,
        "deployments.apps" => &workloads::DEPLOYMENTS,
        "statefulsets.apps" => &workloads::STATEFUL_SETS,
        "daemonsets.apps" => &workloads::DAEMON_SETS,
        "jobs.batch" => &workloads::JOBS,
        "controllerrevisions.apps" => &workloads::CONTROLLER_REVISIONS,
        "horizontalpodautoscalers.autoscaling" => &workloads::AUTOSCALERS,
        "poddisruptionbudgets.policy" => &workloads::BUDGETS,
        "services" => &network::SERVICES,
        "endpoints" => &network::ENDPOINTS,
        "endpointslices.discovery.k8s.io" => &network::ENDPOINT_SLICES,
        "ingresses.networking.k8s.io" => &network::INGRESSES,
        "ingressclasses.networking.k8s.io" => &network::INGRESS_CLASSES,
        "events" => &events::EVENTS,
        "configmaps" => &objects::CONFIG_MAPS,
        "secrets" => &objects::SECRETS,
        "namespaces" => &objects::NAMESPACES,
        "nodes" => &objects::NODES,
        "persistentvolumeclaims" => &objects::CLAIMS,
        "serviceaccounts" => &objects::SERVICE_ACCOUNTS,
        "leases.coordination.k8s.io" => &objects::LEASES,
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io" => {
            &objects::ROLE_BINDINGS
        }
        _ => &objects::OTHERS,
    }
}

/// Whether a kind has no columns of its own.
fn is_plain(layout: &Layout) -> bool {
    layout.columns.len() == objects::OTHERS.columns.len() && layout.columns[1].0 == "Created At"
}

/// What a row carries beside its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    Nothing,
    Metadata,
    Object,
}

impl Include {
    /// Reads `includeObject`.
    pub(crate) fn read(given: &str) -> Self {
        match given {
            "None" => Self::Nothing,
            "Object" => Self::Object,
            _ => Self::Metadata,
        }
    }
}

/// Everything about a table but its rows.
pub(crate) struct Table<'a> {
    pub(crate) resource: &'a Resource,
    pub(crate) include: Include,
    /// Whether `managedFields` of the objects in it are shown.
    pub(crate) managers: bool,
    /// Ages are counted from here.
    pub(crate) now: Timestamp,
    /// Whether it says which columns it has; of the tables of a watch only the first does.
    pub(crate) with_columns: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: Value,
    column_definitions: Vec<Value>,
    rows: Option<Vec<Row<'a>>>,
}

#[derive(Serialize)]
struct Row<'a> {
    cells: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conditions: Option<Value>,
    object: Option<Shown<'a>>,
}

impl Table<'_> {
    /// The table of one object.
    pub(crate) fn of_one(&self, object: &Object) -> Bytes {
        let metadata = json!({"resourceVersion": text(object, &["metadata", "resourceVersion"])});
        self.of_many(std::slice::from_ref(object), metadata)
    }

    /// The table of a list.
    pub(crate) fn of_many(&self, objects: &[Object], metadata: Value) -> Bytes {
        let version = self.resource.api_version();
        let form = match self.include {
            Include::Object if self.resource.custom.is_some() => Form::Version(&version),
            Include::Object => Form::Whole,
            Include::Metadata | Include::Nothing => Form::Metadata,
        };
        let rows = objects.iter().map(|object| Row {
            cells: self.cells(object),
            conditions: if self.resource.id == "pods" { pods::conditions(object) } else { None },
            object: (self.include != Include::Nothing).then_some(Shown { object, form, managers: self.managers }),
        });
        let column_definitions = if self.with_columns { definitions(self.resource) } else { Vec::new() };
        let (kind, api_version) = ("Table", "meta.k8s.io/v1");
        // Kinds without columns of their own have no rows at all rather than none.
        let has_none = objects.is_empty() && self.resource.custom.is_none() && is_plain(layout(self.resource));
        let rows = (!has_none).then(|| rows.collect());
        write_shown(&Written { kind, api_version, metadata, column_definitions, rows })
    }

    fn cells(&self, object: &Value) -> Vec<Value> {
        match &self.resource.custom {
            Some(custom) => custom::cells(&custom.columns, object, self.now),
            None => (layout(self.resource).cells)(object, self.now),
        }
    }
}

fn definitions(resource: &Resource) -> Vec<Value> {
    let describe = |name: &str, kind: &str, wide: bool| {
        let format = if name == "Name" { "name" } else { "" };
        let text = format!("{name} of the {}", resource.kind);
        json!({"name": name, "type": kind, "format": format, "description": text, "priority": i32::from(wide)})
    };
    match &resource.custom {
        Some(custom) => custom::definitions(&custom.columns, describe("Name", "string", false)),
        None => layout(resource).columns.iter().map(|(name, kind, wide)| describe(name, kind, *wide)).collect(),
    }
}

/// What is shown where there is nothing.
const NONE: &str = "<none>";

fn or_none(text: &str) -> &str {
    if text.is_empty() { NONE } else { text }
}

/// Name and age, which nearly all rows have first and last.
fn named(object: &Value, now: Timestamp, between: Vec<Value>) -> Vec<Value> {
    let mut cells = vec![json!(name(object))];
    cells.extend(between);
    cells.push(json!(age::of_object(object, now)));
    cells
}

/// The first three of many, and how many more there are.
fn some_of(items: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = items.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(",");
    if items.len() > SHOWN { format!("{shown} + {} more...", items.len() - SHOWN) } else { shown }
}

/// A map of labels on one line.
fn labels(map: Option<&Value>) -> String {
    let pairs = map.and_then(Value::as_object).into_iter().flatten();
    let pairs: Vec<String> =
        pairs.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    or_none(&pairs.join(",")).to_owned()
}
