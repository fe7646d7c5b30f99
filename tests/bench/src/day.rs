//! How long the command line takes to simulate a day of a fleet.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::figures::{Figures, Unit};

/// Rollouts of the fleet.
const ROLLOUTS: u64 = 100;
/// Seconds.
const DAY_WITHIN: f64 = 10.0;

/// A canary behind a VirtualService, with pauses of hours.
fn manifests(number: u64) -> String {
    let service = |role: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: app-{number}-{role}}}\n\
             spec: {{selector: {{app: app-{number}}}, ports: [{{name: http, port: 80}}]}}\n---\n"
        )
    };
    let to = |role: &str, weight: u8| format!("{{destination: {{host: app-{number}-{role}}}, weight: {weight}}}");
    format!(
        "{}{}apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {{name: app-{number}}}
spec: {{hosts: [app-{number}], http: [{{route: [{}, {}]}}]}}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {{name: app-{number}}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: app-{number}}}}}
  template:
    metadata: {{labels: {{app: app-{number}}}}}
    spec: {{containers: [{{name: main, image: 'app:1'}}]}}
  strategy:
    canary:
      stableService: app-{number}-stable
      canaryService: app-{number}-canary
      trafficRouting: {{istio: {{virtualService: {{name: app-{number}}}}}}}
      steps: [{{setWeight: 20}}, {{pause: {{duration: 1h}}}}, {{setWeight: 60}}, {{pause: {{duration: 2h}}}}]
---
",
        service("stable"),
        service("canary"),
        to("stable", 100),
        to("canary", 0)
    )
}

/// Lets the program simulate the day: every Rollout is updated once, and somebody asks each of them once a second.
pub(crate) fn measure(program: &Path, figures: &mut Figures) -> Result<()> {
    let fleet: String = (0..ROLLOUTS).map(manifests).collect();
    let arguments = ["simulate", "-f", "-", "--until", "24h", "--requests-per-second", "1", "-o", "json"];
    let begun = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("starting simulate")?;
    let mut stdin = child.stdin.take().context("simulate has no input")?;
    stdin.write_all(fleet.as_bytes()).context("writing to simulate")?;
    drop(stdin);
    let output = child.wait_with_output().context("waiting for simulate")?;
    let took = begun.elapsed().as_secs_f64();
    let report: Value = serde_json::from_slice(&output.stdout).context("what simulate says")?;
    let updated =
        report["rollouts"].as_array().map_or(0, |all| all.iter().filter(|one| one["asExpected"] == true).count());
    if updated as u64 != ROLLOUTS || !output.status.success() {
        bail!("simulate updated {updated} of {ROLLOUTS} Rollouts, exit code {:?}", output.status.code());
    }
    figures.held(&format!("simulate a day of {ROLLOUTS} Rollouts"), took, Unit::Seconds, Some(DAY_WITHIN));
    Ok(())
}
