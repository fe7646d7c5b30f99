//! Everything that must hold before a change lands, in the form a developer can run.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::generated::Part;
use crate::run::{cargo, say, succeed, target_folder};
use crate::{generated, lanes, playground, tidy};

/// Runs all checks; ends with `N passed, N failed`, where a failed check counts as one test.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let mut tally = Tally::default();
    check(&mut tally, "format", || succeed(cargo(root).args(["fmt", "--all", "--check"])));
    check(&mut tally, "house rules", || tidy::run(root));
    check(&mut tally, "generated CRDs", || generated::run(root, Part::Crds, true));
    check(&mut tally, "generated manifests", || generated::run(root, Part::Manifests, true));
    check(&mut tally, "lints", || {
        let arguments = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
        succeed(cargo(root).args(arguments))?;
        // What can be left out can be left out.
        let without =
            ["clippy", "-p", "rollouts-controller", "--no-default-features", "--locked", "--", "-D", "warnings"];
        succeed(cargo(root).args(without))
    });
    check(&mut tally, "build of the tests", || {
        succeed(cargo(root).args(["test", "--workspace", "--locked", "--no-run"]))
    });
    // The build above has made this program as well; `cargo run` would build it once more with other features.
    check(&mut tally, "control plane binaries", || {
        succeed(Command::new(target_folder(root).join("debug/tidegate-testbed")).arg("build"))
    });
    check(&mut tally, "the README's first command", || playground::check(root));
    say("==> tests");
    tests(root, &mut tally)?;
    finish(&tally)
}

/// So many test binaries are named with their times at the end.
const SLOWEST: usize = 10;

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    slow: Vec<(String, Duration)>,
}

fn check(tally: &mut Tally, name: &str, run: impl FnOnce() -> Result<()>) {
    say(&format!("==> {name}"));
    let started = Instant::now();
    match run() {
        Ok(()) => tally.passed += 1,
        Err(error) => {
            tally.failed += 1;
            say(&format!("{name} failed: {error:#}"));
        }
    }
    tally.slow.push((name.to_owned(), started.elapsed()));
}

/// Runs all tests, passing on what they say, and counts from the closing lines of the test runner.
fn tests(root: &Path, tally: &mut Tally) -> Result<()> {
    let started = Instant::now();
    let mut each = Vec::new();
    lanes::run(lanes::binaries(root)?, |ran| match ran {
        Ok(ran) => {
            say(&format!("     Running {} ({:.1} s)", ran.name, ran.time.as_secs_f64()));
            count(tally, &ran.output, ran.succeeded);
            each.push((ran.name, ran.time));
        }
        Err(error) => {
            tally.failed += 1;
            say(&format!("{error:#}"));
        }
    });
    each.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    each.truncate(SLOWEST);
    for (name, time) in each {
        tally.slow.push((format!("  {name}"), time));
    }
    let output = cargo(root).args(["test", "--workspace", "--locked", "--doc", "--no-fail-fast"]).output();
    let output = output.context("cannot start cargo test")?;
    count(tally, &String::from_utf8_lossy(&output.stdout), output.status.success());
    if !output.status.success() {
        say(&String::from_utf8_lossy(&output.stderr));
    }
    tally.slow.push(("all tests".to_owned(), started.elapsed()));
    Ok(())
}

/// Passes on what a run said and counts its tests.
fn count(tally: &mut Tally, output: &str, succeeded: bool) {
    let (mut closed, mut failed) = (0, 0);
    for line in output.lines() {
        say(line);
        if let Some((passed, broken, ignored)) = counts(line) {
            closed += 1;
            tally.passed += passed;
            // A test that does not run shows nothing, so it does not count as passed anywhere.
            failed += broken + ignored;
        }
    }
    if closed == 0 || (!succeeded && failed == 0) {
        failed += 1;
        say("this run did not come to its end");
    }
    tally.failed += failed;
}

/// Passed, failed and ignored of a line such as `test result: ok. 3 passed; 0 failed; 0 ignored; …`.
fn counts(line: &str) -> Option<(usize, usize, usize)> {
    let rest = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let number = |word: &str| {
        let part = rest.split("; ").find(|part| part.ends_with(word))?;
        part.split(' ').next()?.parse().ok()
    };
    Some((number("passed")?, number("failed")?, number("ignored")?))
}

#[expect(clippy::print_stdout, reason = "the closing line is what this task answers")]
fn finish(tally: &Tally) -> Result<ExitCode> {
    for (name, time) in &tally.slow {
        say(&format!("{:>7.1} s  {name}", time.as_secs_f64()));
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::counts;

    #[test]
    fn the_closing_line_of_a_test_binary_is_read() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.60s";
        assert_eq!(counts(line), Some((12, 3, 1)));
        assert_eq!(counts("test a ... ok"), None);
    }
}
