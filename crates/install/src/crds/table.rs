//! What the types cannot say about the CRDs, kept by hand.

/// What one kind adds to its shape.
pub(super) struct Extras {
    /// The name for the impatient, as in `kubectl get ro`.
    pub(super) short_name: &'static str,
    /// What `kubectl explain` says about the kind.
    pub(super) description: &'static str,
    /// What `kubectl get` shows.
    pub(super) columns: &'static [Column],
    /// Whether status is written apart from spec and the kind can be scaled. Only the Rollout: upstream patches the
    /// status of the others on the object itself, and existing tools rely on that.
    pub(super) has_status_and_scale: bool,
}

/// A column of `kubectl get`.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    pub(super) kind: &'static str,
}

const fn column(name: &'static str, path: &'static str, kind: &'static str) -> Column {
    Column { name, path, kind }
}

const AGE: Column = column("Age", ".metadata.creationTimestamp", "date");
const STATUS: Column = column("Status", ".status.phase", "string");

pub(super) const ROLLOUT: Extras = Extras {
    short_name: "ro",
    description: "A workload whose updates are released step by step.",
    columns: &[
        column("Desired", ".spec.replicas", "integer"),
        column("Current", ".status.replicas", "integer"),
        column("Up-to-date", ".status.updatedReplicas", "integer"),
        column("Available", ".status.availableReplicas", "integer"),
        AGE,
    ],
    has_status_and_scale: true,
};

pub(super) const EXPERIMENT: Extras = Extras {
    short_name: "exp",
    description: "Workloads that run side by side for a while, to be compared.",
    columns: &[STATUS, AGE],
    has_status_and_scale: false,
};

pub(super) const ANALYSIS_RUN: Extras = Extras {
    short_name: "ar",
    description: "One run of an analysis.",
    columns: &[STATUS, AGE],
    has_status_and_scale: false,
};

pub(super) const ANALYSIS_TEMPLATE: Extras = Extras {
    short_name: "at",
    description: "Metrics to measure and what counts as success, for use in one namespace.",
    columns: &[AGE],
    has_status_and_scale: false,
};

pub(super) const CLUSTER_ANALYSIS_TEMPLATE: Extras = Extras {
    short_name: "cat",
    description: "Metrics to measure and what counts as success, for use in every namespace.",
    columns: &[AGE],
    has_status_and_scale: false,
};

/// What a field has besides its shape.
pub(super) enum Addition {
    /// The only values allowed.
    Enum(&'static [&'static str]),
    /// The value the API server fills in.
    Default(&'static str),
    /// A CEL rule and what to say when it is broken.
    Rule {
        /// The rule.
        rule: &'static str,
        /// The message.
        message: &'static str,
    },
}

/// Additions by the end of the field's path. A path that ends so has the addition in every kind; the first name is
/// always matched whole.
pub(super) const ADDITIONS: [(&str, Addition); 6] = [
    ("Rollout.spec.selector", Addition::Rule { rule: "self == oldSelf", message: ".spec.selector is immutable" }),
    (
        "provider.datadog.aggregator",
        Addition::Enum(&["avg", "min", "max", "sum", "last", "percentile", "mean", "l2norm", "area"]),
    ),
    ("provider.datadog.apiVersion", Addition::Enum(&["v1", "v2"])),
    ("provider.datadog.apiVersion", Addition::Default("v1")),
    ("provider.datadog.interval", Addition::Default("5m")),
    ("provider.datadog.requestTimeout", Addition::Default("10s")),
];

/// The additions of the field at `path`, which begins with the kind.
pub(super) fn additions(path: &str) -> impl Iterator<Item = &'static Addition> {
    ADDITIONS.iter().filter(move |(end, _)| ends_with_names(path, end)).map(|(_, addition)| addition)
}

/// Whether `path` ends in the names of `end`, each whole.
pub(super) fn ends_with_names(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}
