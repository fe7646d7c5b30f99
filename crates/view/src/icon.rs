//! One character that says how something is.

/// Of a Rollout's phase.
pub(crate) fn of_rollout(phase: &str) -> &'static str {
    match phase {
        "Progressing" => "◌",
        "Error" | "InvalidSpec" => "⚠",
        "Paused" => "॥",
        "Healthy" => "✔",
        "Degraded" => "✖",
        "Unknown" => "?",
        "ScaledDown" => "•",
        _ => " ",
    }
}

/// Of a ReplicaSet's status.
pub(crate) fn of_replica_set(status: &str) -> &'static str {
    match status {
        "Progressing" => "◌",
        "Healthy" => "✔",
        "ReplicaFailure" => "✖",
        "ScaledDown" => "•",
        _ => " ",
    }
}

/// Of the phase of an AnalysisRun, an Experiment or a Job.
pub(crate) fn of_analysis(phase: &str) -> &'static str {
    match phase {
        "Successful" => "✔",
        "Inconclusive" => "?",
        "Failed" => "✖",
        "Error" => "⚠",
        "Running" => "◌",
        "Pending" => "◷",
        _ => " ",
    }
}

/// Of a pod's status text.
pub(crate) fn of_pod(status: &str) -> &'static str {
    if status.starts_with("Init:") {
        return "◌";
    }
    if status.starts_with("Signal:") || status.starts_with("ExitCode:") {
        return "✖";
    }
    if status.ends_with("Error") || status.starts_with("Err") {
        return "⚠";
    }
    match status {
        "Pending" | "Terminating" | "ContainerCreating" => "◌",
        "Running" | "Completed" => "✔",
        "Failed" | "InvalidImageName" | "CrashLoopBackOff" => "✖",
        "ImagePullBackOff" | "RegistryUnavailable" => "⚠",
        "Unknown" => "?",
        _ => " ",
    }
}
