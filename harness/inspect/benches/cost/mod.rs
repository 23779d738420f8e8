//! What other processes cost.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The kernel counts the CPU time of processes that have ended in these.
const TICKS_PER_SECOND: u64 = 100;
/// How often a running process is asked for its memory.
const LOOK: Duration = Duration::from_millis(1);

/// Returns the median, the lowest and the highest of some figures.
pub(crate) fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let (least, most) = (values[0], values[values.len() - 1]);
    format!("{:.2} ({least:.2} to {most:.2})", values[values.len() / 2])
}

/// What a process has used.
pub(crate) struct Cost {
    /// In user and system mode, of all threads, in seconds.
    pub(crate) cpu: f64,
    /// In seconds.
    pub(crate) wall: f64,
    /// In MB.
    pub(crate) peak: f64,
}

/// Runs a program on a file.
pub(crate) fn measure(program: &str, arguments: &[&str], file: &Path) -> io::Result<Cost> {
    let before = cpu_of_children()?;
    let start = Instant::now();
    let mut command = Command::new(program);
    command.args(arguments).arg(file).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let mut peak = 0.0;
    while child.try_wait()?.is_none() {
        peak = peak_of(child.id()).unwrap_or(peak);
        sleep(LOOK);
    }
    let wall = start.elapsed().as_secs_f64();
    Ok(Cost { cpu: cpu_of_children()? - before, wall, peak })
}

/// Returns the CPU time of all children that have ended, in seconds (`proc_pid_stat(5)`).
fn cpu_of_children() -> io::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // After the name, which can contain spaces, `cutime` and `cstime` are the 14th and 15th.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks = fields.skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>();
    Ok(ticks as f64 / TICKS_PER_SECOND as f64)
}

/// Returns the peak memory of a running process in MB (`proc_pid_status(5)`).
fn peak_of(id: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}
