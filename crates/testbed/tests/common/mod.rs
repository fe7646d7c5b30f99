//! What the test binaries share.

use std::time::{Duration, Instant};

use tidegate_testbed::Testbed;

/// Asks again and again until `probe` gives a value; fails with the last refusal after `seconds`.
pub(crate) async fn eventually<T>(seconds: u64, mut probe: impl AsyncFnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match probe().await {
            Ok(value) => return value,
            Err(refusal) if begun.elapsed() > Duration::from_secs(seconds) => panic!("after {seconds} s: {refusal}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Runs kubectl and gives its output; fails with its complaint.
pub(crate) async fn kubectl(testbed: &Testbed, args: &[&str]) -> String {
    let output = testbed.kubectl(args).await.unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "kubectl {args:?}: {err}");
    out.into_owned()
}
