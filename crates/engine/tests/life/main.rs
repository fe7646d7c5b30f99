//! Whole lives of Rollouts on a toy cluster. The logs under `logs/` tell what was decided, in order.
//!
//! `UPDATE_LOGS=1 cargo test -p tidegate-engine` writes them anew; read the difference before you commit it.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod blue_green;
mod canary;
mod world;

use std::path::Path;

/// Compares a log with the one that is kept.
fn assert_log(name: &str, world: &world::World) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/life/logs").join(format!("{name}.log"));
    let told = format!("{}\n", world.log.join("\n"));
    if std::env::var_os("UPDATE_LOGS").is_some() {
        std::fs::write(&path, &told).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(told == kept, "{name}: the story has changed; it is now:\n{told}");
}
