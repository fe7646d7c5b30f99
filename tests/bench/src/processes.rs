//! What processes cost: memory and processor time, as the kernel counts them.

use std::fs;
use std::time::Duration;

/// Ticks in a second: fixed for all that user programs are told, whatever the kernel's own clock does.
const TICKS: f64 = 100.0;

/// Resident memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) now: u64,
    pub(crate) most: u64,
}

/// Memory of a process, now and at its most; none when it is gone.
pub(crate) fn memory(pid: u32) -> Option<Memory> {
    memory_in(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

fn memory_in(status: &str) -> Option<Memory> {
    let bytes = |name: &str| {
        let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
        rest.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    };
    Some(Memory { now: bytes("VmRSS:")?, most: bytes("VmHWM:")? })
}

/// Processor seconds a process has used, with all its threads; none when it is gone.
pub(crate) fn cpu(pid: u32) -> Option<f64> {
    cpu_in(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn cpu_in(stat: &str) -> Option<f64> {
    // The name may hold anything, also spaces and brackets; the fields after its last bracket are numbers.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS)
}

/// Processor seconds that the whole machine has been busy.
fn busy() -> f64 {
    busy_in(&fs::read_to_string("/proc/stat").unwrap_or_default())
}

fn busy_in(stat: &str) -> f64 {
    let line = stat.lines().next().unwrap_or_default();
    let fields: Vec<f64> = line.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    // user, nice, system, then idle and waiting, then interrupts and what the host took away.
    let counted = fields.iter().take(3).chain(fields.iter().skip(5).take(3));
    counted.sum::<f64>() / TICKS
}

/// How much each of several processes has used at a moment.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    each: Vec<(&'static str, f64)>,
    busy: f64,
}

impl Meter {
    /// Reads all.
    pub(crate) fn read(pids: &[(&'static str, u32)]) -> Self {
        Self { each: pids.iter().map(|(name, pid)| (*name, cpu(*pid).unwrap_or_default())).collect(), busy: busy() }
    }

    /// What was used since an earlier moment: by each, and by everybody else on this machine.
    pub(crate) fn since(&self, earlier: &Self) -> Vec<(&'static str, f64)> {
        let before = |name: &str| earlier.each.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, used)| *used);
        let mut each: Vec<_> = self.each.iter().map(|(name, used)| (*name, (used - before(name)).max(0.0))).collect();
        let ours: f64 = each.iter().map(|(_, used)| used).sum();
        each.push(("others on this machine", (self.busy - earlier.busy - ours).max(0.0)));
        each
    }
}

/// Who kept the processors busy: what is slow while they are all busy with others is not the controller's.
pub(crate) fn shares(what: &str, spent: &[(&'static str, f64)], took: Duration) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    let whole = took.as_secs_f64() * cores;
    let share = |used: f64| format!("{:.0} %", 100.0 * used / whole.max(1e-9));
    let mut sorted = spent.to_vec();
    sorted.sort_by(|one, other| other.1.total_cmp(&one.1));
    let each: Vec<String> = sorted.iter().map(|(name, used)| format!("{name} {}", share(*used))).collect();
    let busy: f64 = spent.iter().map(|(_, used)| used).sum();
    format!("{what}: processors {} busy: {}", share(busy), each.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        let status = "Name:\tx\nVmHWM:\t   2048 kB\nVmRSS:\t   1024 kB\nThreads:\t4\n";
        assert_eq!(memory_in(status), Some(Memory { now: 1_048_576, most: 2_097_152 }));
        assert_eq!(memory_in("Name:\tzombie\n"), None);
        assert!(memory(std::process::id()).is_some_and(|memory| memory.most >= memory.now));
    }

    #[test]
    fn processor_time_is_read_whatever_a_process_is_called() {
        let stat = "7 (a) b (c) S 1 1 1 0 -1 4194560 10 0 0 0 150 50 0 0 20 0 3 0 100 1 1";
        assert_eq!(cpu_in(stat), Some(2.0));
        assert_eq!(cpu_in("nonsense"), None);
    }

    #[test]
    fn busy_is_what_is_neither_idle_nor_waiting() {
        assert!((busy_in("cpu  100 10 50 9999 8888 20 10 10 0 0\ncpu0 1\n") - 2.0).abs() < 1e-9);
    }

    #[test]
    fn others_are_what_is_left() {
        let earlier = Meter { each: vec![("a", 1.0), ("b", 2.0)], busy: 10.0 };
        let later = Meter { each: vec![("a", 2.0), ("b", 2.5)], busy: 13.0 };
        assert_eq!(later.since(&earlier), [("a", 1.0), ("b", 0.5), ("others on this machine", 1.5)]);
    }
}
