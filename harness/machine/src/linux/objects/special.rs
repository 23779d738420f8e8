//! What is not on a disk: devices, and what `/proc` and `/sys` show.

use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::disk::Entry;

/// A file that is no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Null,
    Zero,
    Full,
    Random,
    /// There is no terminal.
    Terminal,
    /// Another way to a descriptor of the process.
    Descriptor(u32),
    Maps,
    CommandLine,
    Environment,
    Status,
    /// `/proc/self/stat`.
    Numbers,
    Comm,
    /// A text that is the same for all programs.
    Text(&'static str),
}

/// What `/proc` shows of the processes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processes {
    /// The current one.
    pub(crate) own: u32,
    /// All.
    pub(crate) all: Vec<u32>,
    pub(crate) program: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) descriptors: Vec<u32>,
}

const DEVICES: [(&str, Special); 6] = [
    ("null", Special::Null),
    ("zero", Special::Zero),
    ("full", Special::Full),
    ("random", Special::Random),
    ("urandom", Special::Random),
    ("tty", Special::Terminal),
];

/// Files of one processor, as runtimes ask for them.
const TEXTS: [(&str, &str); 14] = [
    ("/sys/devices/system/cpu/online", "0\n"),
    ("/sys/devices/system/cpu/possible", "0\n"),
    ("/sys/devices/system/cpu/present", "0\n"),
    ("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n"),
    ("/proc/cpuinfo", "processor\t: 0\n\n"),
    ("/proc/filesystems", "nodev\ttmpfs\n"),
    ("/proc/loadavg", "0.00 0.00 0.00 1/1 1000\n"),
    (
        "/proc/meminfo",
        "MemTotal:        4194304 kB\nMemFree:         2097152 kB\nMemAvailable:    2097152 kB\n",
    ),
    ("/proc/mounts", "tmpfs / tmpfs rw 0 0\n"),
    ("/proc/stat", "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nbtime 1700000000\n"),
    ("/proc/uptime", "1000.00 1000.00\n"),
    ("/proc/version", "Linux version 6.12.0\n"),
    ("/proc/sys/kernel/pid_max", "32768\n"),
    ("/proc/sys/vm/overcommit_memory", "0\n"),
];

/// Files of a process.
const OF_PROCESS: [(&str, Special); 9] = [
    ("maps", Special::Maps),
    ("cmdline", Special::CommandLine),
    ("environ", Special::Environment),
    ("status", Special::Status),
    ("stat", Special::Numbers),
    ("comm", Special::Comm),
    ("mounts", Special::Text("tmpfs / tmpfs rw 0 0\n")),
    ("mountinfo", Special::Text("1 1 0:1 / / rw - tmpfs tmpfs rw\n")),
    ("cgroup", Special::Text("0::/\n")),
];

impl Processes {
    /// Returns what is at a path, if it is not on the disk.
    pub(crate) fn entry(&self, path: &Path) -> Option<Result<Entry, Errno>> {
        let text = path.to_str()?;
        let is_below = |folder: &str| {
            text.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if !["/dev", "/proc", "/sys"].into_iter().any(is_below) {
            return None;
        }
        Some(self.found(text).ok_or(Errno::NOENT))
    }

    fn found(&self, path: &str) -> Option<Entry> {
        let link = |target: &str| Some(Entry::Link(PathBuf::from(target)));
        if let Some(device) = path.strip_prefix("/dev/") {
            return match device {
                "stdin" => link("/proc/self/fd/0"),
                "stdout" => link("/proc/self/fd/1"),
                "stderr" => link("/proc/self/fd/2"),
                "fd" => link("/proc/self/fd"),
                _ => DEVICES
                    .iter()
                    .find(|(name, _)| *name == device)
                    .map(|(_, device)| Entry::Special(*device)),
            };
        }
        if let Some((_, text)) = TEXTS.iter().find(|(known, _)| *known == path) {
            return Some(Entry::Special(Special::Text(text)));
        }
        if path == "/proc/self" || path == "/proc/thread-self" {
            return link(&format!("/proc/{}", self.own));
        }
        if let Some(rest) = path.strip_prefix("/proc/")
            && let (number, rest) = rest.split_once('/').unwrap_or((rest, ""))
            && let Ok(number) = number.parse()
        {
            return if self.all.contains(&number) { self.of_process(number, rest) } else { None };
        }
        let is_folder =
            |(known, _): &(&str, &str)| known.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        let is_top = matches!(path, "/dev" | "/proc" | "/sys");
        (is_top || TEXTS.iter().any(is_folder)).then_some(Entry::Folder)
    }

    fn of_process(&self, number: u32, rest: &str) -> Option<Entry> {
        let is_own = number == self.own;
        match rest {
            "" | "fd" | "task" => Some(Entry::Folder),
            "exe" if is_own => Some(Entry::Link(self.program.clone())),
            "cwd" if is_own => Some(Entry::Link(self.folder.clone())),
            "root" => Some(Entry::Link(PathBuf::from("/"))),
            _ if is_own && rest.starts_with("fd/") => {
                let descriptor = rest.strip_prefix("fd/")?.parse().ok()?;
                let is_open = self.descriptors.contains(&descriptor);
                is_open.then_some(Entry::Special(Special::Descriptor(descriptor)))
            }
            _ => {
                // The tasks of a process show the same.
                let rest = rest
                    .strip_prefix("task/")
                    .and_then(|task| task.split_once('/'))
                    .map_or(rest, |(_, rest)| rest);
                let found = OF_PROCESS.iter().find(|(name, _)| *name == rest);
                found.filter(|_| is_own).map(|(_, special)| Entry::Special(*special))
            }
        }
    }

    /// Lists what is in a folder and not on the disk.
    pub(crate) fn list(&self, folder: &Path) -> Vec<(Vec<u8>, Entry)> {
        let special =
            |(name, special): &(&str, Special)| (name.as_bytes().to_vec(), Entry::Special(*special));
        let numbers = |numbers: &[u32], entry: fn(u32) -> Entry| {
            numbers.iter().map(|number| (number.to_string().into_bytes(), entry(*number))).collect()
        };
        match folder.to_str() {
            Some("/") => {
                ["dev", "proc", "sys"].map(|name| (name.as_bytes().to_vec(), Entry::Folder)).to_vec()
            }
            Some("/dev") => DEVICES.iter().map(special).collect(),
            Some("/proc") => numbers(&self.all, |_| Entry::Folder),
            Some(folder) if folder == format!("/proc/{}", self.own) => {
                OF_PROCESS.iter().map(special).collect()
            }
            Some(folder) if folder == format!("/proc/{}/fd", self.own) => {
                numbers(&self.descriptors, |number| Entry::Special(Special::Descriptor(number)))
            }
            Some(folder) if folder == format!("/proc/{}/task", self.own) => {
                numbers(&[self.own], |_| Entry::Folder)
            }
            _ => Vec::new(),
        }
    }
}
