//! `simulate`: manifests in virtual time.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tidegate_simulate::report::{html, seeds_html, seeds_text, text};
use tidegate_simulate::{
    Faults, ImageChange, Input, PlayError, Reader, Report, SeedsReport, Setting, run_seeds, scenario, simulate, words,
};

use super::signals::Signals;
use crate::arguments::{AnswerForm, Global, Simulate};
use crate::failure::Failure;
use crate::{Outcome, Streams};

/// The input cannot be simulated.
pub(crate) const BAD_INPUT: Outcome = Outcome::Other(2);
const INTERRUPTED: Outcome = Outcome::Other(130);
/// How often progress is told.
const TOLD_EVERY: Duration = Duration::from_millis(250);

pub(crate) fn run(asked: &Simulate, global: &Global, streams: &mut Streams<'_>) -> Result<Outcome, Failure> {
    let namespace = global.namespace.as_deref().unwrap_or("default");
    let (input, setting) = match read(asked, namespace) {
        Ok(read) => read,
        Err(text) => return refuse(&text, streams),
    };
    let is_as_expected = match asked.seeds {
        None => one(asked, &input, &setting, streams)?,
        Some(seeds) => many(asked, seeds, &input, setting, streams)?,
    };
    Ok(match is_as_expected {
        Ended::AsExpected => Outcome::Success,
        Ended::Otherwise => Outcome::Failure,
        Ended::Refused => BAD_INPUT,
        Ended::Interrupted => INTERRUPTED,
    })
}

/// How the command ended.
enum Ended {
    AsExpected,
    Otherwise,
    Refused,
    Interrupted,
}

fn refuse(text: &str, streams: &mut Streams<'_>) -> Result<Outcome, Failure> {
    for (index, line) in text.lines().enumerate() {
        writeln!(streams.err, "{}{line}", if index == 0 { "Error: " } else { "" })?;
    }
    Ok(BAD_INPUT)
}

fn read(asked: &Simulate, namespace: &str) -> Result<(Input, Setting), String> {
    let mut setting = Setting::default();
    if let Some(path) = &asked.scenario {
        scenario::read(path, namespace, &mut setting)?;
    }
    take_flags(asked, &mut setting)?;
    let mut stdin = io::stdin();
    let input = Reader { namespace, stdin: &mut stdin }.read(&asked.filenames).map_err(|error| error.to_string())?;
    Ok((input, setting))
}

/// Flags win over the scenario file.
fn take_flags(asked: &Simulate, setting: &mut Setting) -> Result<(), String> {
    if !asked.set_image.is_empty() {
        setting.images.clone_from(&asked.set_image);
    }
    if let Some(image) = &asked.image {
        setting.images = vec![ImageChange { rollout: None, container: None, image: image.clone() }];
    }
    // Of two that say something about a version the later one counts.
    setting.versions.extend(asked.error_rate.iter().chain(&asked.latency).cloned());
    if !asked.fault.is_empty() {
        setting.faults = Faults::None;
        for fault in &asked.fault {
            words::add_fault(&mut setting.faults, fault).map_err(|error| format!("--fault: {error}"))?;
        }
    }
    setting.acts.extend(asked.act.iter().cloned());
    setting.pod_start = asked.pod_start.unwrap_or(setting.pod_start);
    setting.requests_per_second = asked.requests_per_second.unwrap_or(setting.requests_per_second);
    setting.faults_for = asked.faults_for.unwrap_or(setting.faults_for);
    setting.promote_after = asked.promote_after.map_or(setting.promote_after, |after| after.0);
    setting.until = asked.until.or(setting.until);
    setting.seed = asked.seed.unwrap_or(setting.seed);
    setting.assume = asked.assume_metrics.map_or(setting.assume, Into::into);
    setting.expect = asked.expect.map_or(setting.expect, Into::into);
    Ok(())
}

fn one(asked: &Simulate, input: &Input, setting: &Setting, streams: &mut Streams<'_>) -> Result<Ended, Failure> {
    let result: Result<Report, PlayError> = interruptible(|stop| simulate(input, setting, stop), || Ok(()))?;
    let report = match result {
        Ok(report) => report,
        Err(error) => return tell_error(&error, streams),
    };
    write_html(asked.html.as_deref(), || html(&report))?;
    match asked.output {
        AnswerForm::Json => write!(streams.out, "{}", report.json())?,
        AnswerForm::Text => write!(streams.out, "{}", text(&report))?,
    }
    Ok(if report.as_expected { Ended::AsExpected } else { Ended::Otherwise })
}

fn many(
    asked: &Simulate,
    seeds: u64,
    input: &Input,
    mut setting: Setting,
    streams: &mut Streams<'_>,
) -> Result<Ended, Failure> {
    // Seeds differ in what goes wrong, so something must.
    let is_drawn = setting.faults == Faults::None;
    if is_drawn {
        setting.faults = Faults::Drawn;
    }
    let command = |seed: u64| replay(asked, seed, is_drawn);
    let (done, setting) = (AtomicU64::new(0), &setting);
    let is_watched = streams.err_is_terminal;
    let err = &mut *streams.err;
    let tell = || {
        if is_watched {
            write!(err, "\r{} of {seeds} seeds", done.load(Ordering::Relaxed))?;
            err.flush()?;
        }
        Ok(())
    };
    let range = setting.seed..setting.seed.saturating_add(seeds);
    let result: Result<SeedsReport, PlayError> =
        interruptible(|stop| run_seeds(input, setting, range, stop, &done, &command), tell)?;
    if is_watched {
        write!(streams.err, "\r\x1b[K")?;
    }
    let report = match result {
        Ok(report) => report,
        Err(error) => return tell_error(&error, streams),
    };
    write_html(asked.html.as_deref(), || seeds_html(&report))?;
    match asked.output {
        AnswerForm::Json => write!(streams.out, "{}", report.json())?,
        AnswerForm::Text => write!(streams.out, "{}", seeds_text(&report))?,
    }
    Ok(if report.as_expected == report.seeds { Ended::AsExpected } else { Ended::Otherwise })
}

fn tell_error(error: &PlayError, streams: &mut Streams<'_>) -> Result<Ended, Failure> {
    if let PlayError::Interrupted(_) = error {
        writeln!(streams.err, "Interrupted: nothing is reported")?;
        return Ok(Ended::Interrupted);
    }
    writeln!(streams.err, "Error: {error}")?;
    Ok(Ended::Refused)
}

fn write_html(path: Option<&Path>, page: impl FnOnce() -> String) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    std::fs::write(path, page())
        .map_err(|error| Failure::said(format!("{}: cannot be written: {error}", path.display())))
}

/// Works on a thread of its own, so that signals are heard; `tell` is called from time to time.
fn interruptible<T: Send>(
    work: impl FnOnce(&AtomicBool) -> T + Send,
    mut tell: impl FnMut() -> io::Result<()>,
) -> io::Result<T> {
    let stop = AtomicBool::new(false);
    let (sender, mut receiver) = tokio::sync::oneshot::channel();
    let runtime = super::runtime()?;
    // Before anything else: from here on a signal ends nothing by itself.
    let mut signals = runtime.block_on(async { Signals::new() })?;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let done = work(&stop);
            // Whoever waited may have failed to write.
            let _ = sender.send(done);
        });
        runtime.block_on(async {
            loop {
                tokio::select! {
                    biased;
                    done = &mut receiver => return done.map_err(io::Error::other),
                    () = signals.end() => stop.store(true, Ordering::Relaxed),
                    () = tokio::time::sleep(TOLD_EVERY) => if let Err(error) = tell() {
                        stop.store(true, Ordering::Relaxed);
                        return Err(error);
                    },
                }
            }
        })
    })
}

/// The command that shows one seed again.
fn replay(asked: &Simulate, seed: u64, is_drawn: bool) -> String {
    let mut words = vec!["kubectl argo rollouts simulate".to_owned()];
    let mut rest = asked.typed.iter();
    while let Some(word) = rest.next() {
        let (flag, is_whole) = word.split_once('=').map_or((word.as_str(), false), |(flag, _)| (flag, true));
        if ["--seeds", "--seed", "--html"].contains(&flag) {
            if !is_whole {
                rest.next();
            }
            continue;
        }
        words.push(quoted(word));
    }
    if is_drawn {
        words.push("--fault drawn".to_owned());
    }
    words.push(format!("--seed {seed}"));
    words.join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./:%,@+".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The words after the command's name.
pub(crate) fn typed(arguments: &[std::ffi::OsString]) -> Vec<String> {
    let words = arguments.iter().map(|word| word.to_string_lossy().into_owned());
    words.skip_while(|word| word != "simulate").skip(1).collect()
}
