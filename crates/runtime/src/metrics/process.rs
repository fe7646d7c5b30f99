//! What the operating system says about this process, under the names every dashboard knows.

use std::fs;

use super::{Page, Source};

/// Linux counts processor time in hundredths of a second on every processor we build for.
const TICKS_PER_SECOND: f64 = 100.0;

/// This process. On systems without `/proc` there is nothing to say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Process;

/// The fields of `/proc/self/stat` after the name of the program, which may hold blanks.
fn fields(stat: &str) -> Vec<f64> {
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    after.split_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect()
}

impl Source for Process {
    fn collect(&self, page: &mut Page) {
        let Ok(stat) = fs::read_to_string("/proc/self/stat") else { return };
        let stat = fields(&stat);
        // Counted from the state, which is the first after the name.
        let field = |place: usize| stat.get(place).copied().unwrap_or(0.0);
        let help = "Processor time used, in seconds.";
        page.counter("process_cpu_seconds_total", help, &[], (field(11) + field(12)) / TICKS_PER_SECOND);
        page.gauge("process_virtual_memory_bytes", "Virtual memory, in bytes.", &[], field(20));
        if let Some(resident) = resident() {
            page.gauge("process_resident_memory_bytes", "Resident memory, in bytes.", &[], resident);
        }
        page.gauge("process_threads", "Threads.", &[], field(17));
        if let Some(booted) = booted() {
            let help = "When the process started, in seconds since 1970.";
            page.gauge("process_start_time_seconds", help, &[], booted + field(19) / TICKS_PER_SECOND);
        }
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            page.gauge("process_open_fds", "Open file descriptors.", &[], open.count() as f64);
        }
        if let Some(most) = most_files() {
            page.gauge("process_max_fds", "File descriptors that may be open.", &[], most);
        }
    }
}

/// Not from the statistics above: those count pages, whose size differs between machines.
fn resident() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024.0)
}

fn booted() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

fn most_files() -> Option<f64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_program_may_hold_anything() {
        let stat = fields("7 (a) b (c) S 1 2 3");
        assert_eq!(stat, [0.0, 1.0, 2.0, 3.0]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_uses_memory_and_has_started() {
        let mut page = Page::default();
        Process.collect(&mut page);
        let text = page.text();
        let value = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap();
            line.parse().unwrap()
        };
        assert!(value("process_resident_memory_bytes") > 100_000.0, "{text}");
        assert!(value("process_start_time_seconds") > 1_700_000_000.0, "{text}");
        assert!(value("process_open_fds") >= 3.0 && value("process_max_fds") >= 3.0, "{text}");
    }
}
