//! What the tests on a real control plane share: one testbed per test binary, and a way to talk to it.
//!
//! Helpers fail by panicking, as tests do.

#![expect(clippy::panic, clippy::missing_panics_doc, reason = "helpers of tests fail by panicking, as tests do")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kube::Client;
use tidegate_testbed::{Options, Testbed};

/// The folder of generated manifests.
pub fn manifests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifests")
}

/// Starts a testbed of its own.
pub async fn start() -> Testbed {
    Testbed::start(Options::default()).await.unwrap_or_else(|error| panic!("the testbed does not start: {error}"))
}

/// A client for the runtime of this test.
pub async fn client(testbed: &Testbed) -> Client {
    testbed.client().await.unwrap_or_else(|error| panic!("no client: {error}"))
}

/// What kubectl printed, and whether it succeeded.
pub struct Printed {
    /// Whether the exit code was 0.
    pub succeeded: bool,
    /// The output.
    pub out: String,
    /// The complaints.
    pub err: String,
}

/// Runs kubectl.
pub async fn kubectl(testbed: &Testbed, arguments: &[&str]) -> Printed {
    let output = testbed.kubectl(arguments).await.unwrap_or_else(|error| panic!("kubectl does not start: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Printed { succeeded: output.status.success(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// Runs kubectl, which must succeed; returns the output.
pub async fn kubectl_ok(testbed: &Testbed, arguments: &[&str]) -> String {
    let printed = kubectl(testbed, arguments).await;
    assert!(printed.succeeded, "kubectl {}: {}{}", arguments.join(" "), printed.out, printed.err);
    printed.out
}

/// Waits until all five CRDs are served.
pub async fn crds_are_served(testbed: &Testbed) {
    let begun = Instant::now();
    loop {
        let resources = kubectl(testbed, &["api-resources", "--api-group=argoproj.io", "-o", "name"]).await;
        if resources.out.lines().count() == 5 {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "after 30 s served: {}{}", resources.out, resources.err);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
