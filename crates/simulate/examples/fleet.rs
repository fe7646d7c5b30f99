//! How long a virtual day of a fleet takes: `cargo run --release -p tidegate-simulate --example fleet`.

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tidegate_simulate::{Reader, Setting, simulate};

/// Rollouts of the fleet.
const ROLLOUTS: u64 = 100;

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

fn main() -> Result<(), Box<dyn Error>> {
    let fleet: String = (0..ROLLOUTS).map(manifests).collect();
    let mut text = fleet.as_bytes();
    let input = Reader { namespace: "default", stdin: &mut text }.read(&[PathBuf::from("-")])?;
    let day = Duration::from_secs(24 * 3600);
    let setting = Setting { requests_per_second: 1.0, until: Some(day), ..Setting::default() };
    let begun = Instant::now();
    let report = simulate(&input, &setting, &AtomicBool::new(false))?;
    let requests: u64 = report.rollouts.iter().map(|rollout| rollout.requests.all.requests).sum();
    let healthy = report.rollouts.iter().filter(|rollout| rollout.as_expected).count();
    let took = begun.elapsed().as_secs_f64();
    writeln!(
        std::io::stdout(),
        "a virtual day: {healthy} of {ROLLOUTS} Rollouts updated, {requests} requests, {} failed, {took:.1} s",
        report.failed()
    )?;
    Ok(())
}
