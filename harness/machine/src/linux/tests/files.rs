//! Files: nothing outside of the root is reached, and nothing of the host changes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::io::Errno;
use tempfile::TempDir;

use super::{Caller, HERE};

const WRITE_ONLY: u64 = 1;
const READ_WRITE: u64 = 2;
const CREATE: u64 = 0o100;
const EXCLUSIVE: u64 = 0o200;
const TRUNCATE: u64 = 0o1000;
const APPEND: u64 = 0o2000;
const DIRECTORY: u64 = 0o200_000;
const NOFOLLOW: u64 = 0o400_000;
const REMOVE_FOLDER: u64 = 0x200;

/// Of a large file of the host, only what is changed takes memory.
#[test]
fn large_files_can_be_changed_in_places() {
    let root = Root::new();
    let large = fs::File::create(root.path().join("etc/large")).expect("a file");
    large.set_len(6 << 30).expect("a sparse file");
    let mut caller = root.caller();
    let file = caller.open("/etc/large", READ_WRITE).expect("a file");
    let text = caller.put(b"changed");
    for offset in [0, 4093, 5 << 30, (6 << 30) - 3] {
        assert_eq!(caller.call("pwrite64", &[file, text, 7, offset]), Ok(7));
    }
    let buffer = caller.put(&[1; 16]);
    let at = |caller: &mut Caller, offset| {
        let len = caller.call("pread64", &[file, buffer, 12, offset]).expect("bytes");
        caller.bytes(buffer, usize::try_from(len).expect("a length"))
    };
    assert_eq!(at(&mut caller, 4091), b"\0\0changed\0\0\0");
    assert_eq!(at(&mut caller, (5 << 30) - 2), b"\0\0changed\0\0\0");
    assert_eq!(at(&mut caller, (6 << 30) - 5), b"\0\0changed", "it has grown");
    assert_eq!(caller.call("ftruncate", &[file, 4095]), Ok(0));
    assert_eq!(caller.call("ftruncate", &[file, 6 << 30]), Ok(0), "as long as it was");
    assert_eq!(at(&mut caller, 4091), b"\0\0ch\0\0\0\0\0\0\0\0");
    assert_eq!(at(&mut caller, 0), b"changed\0\0\0\0\0");
    assert_eq!(caller.call("ftruncate", &[file, 0]), Ok(0));
    assert_eq!(at(&mut caller, 0), b"");
    assert_eq!(large.metadata().expect("a file").len(), 6 << 30, "the host's is as it was");
}

/// In debug builds an offset before the start would be an overflow.
#[test]
fn files_are_sent_from_offsets_that_they_can_have() {
    let root = Root::new();
    let mut caller = root.caller();
    let (from, to) =
        (caller.open("/etc/file", 0).expect("a file"), caller.open("/tmp/new", CREATE | 2).expect("a file"));
    for offset in [-1_i64, i64::MIN, -2] {
        let at = caller.words(&[offset.cast_unsigned()]);
        assert_eq!(caller.call("sendfile", &[to, from, at, 4]), Err(Errno::INVAL), "{offset}");
        assert_eq!(caller.word(at), offset.cast_unsigned());
    }
    let at = caller.words(&[2, i64::MAX.cast_unsigned()]);
    assert_eq!(caller.call("sendfile", &[to, from, at, 3]), Ok(3));
    assert_eq!(caller.word(at), 5);
    assert_eq!(caller.call("sendfile", &[to, from, at + 8, 3]), Ok(0), "behind the end");
    assert_eq!(caller.content("/tmp/new"), Ok(b"sid".to_vec()));
}

/// A root in a folder with a file outside the root.
struct Root {
    folder: TempDir,
}

impl Root {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("etc/deep")).expect("a folder");
        fs::write(folder.path().join("secret"), "outside").expect("a file");
        fs::write(root.join("etc/file"), "inside").expect("a file");
        fs::write(root.join("etc/deep/other"), "deeper").expect("a file");
        Self { folder }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("root")
    }

    fn caller(&self) -> Caller {
        Caller::below(&self.path())
    }

    fn link(&self, target: impl AsRef<Path>, name: &str) {
        symlink(target, self.path().join(name)).expect("a link");
    }

    /// All that the folder holds: names, and contents or targets.
    fn state(&self) -> BTreeMap<String, String> {
        fn add(folder: &Path, state: &mut BTreeMap<String, String>) {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let kind = path.symlink_metadata().expect("an entry").file_type();
                let content = if kind.is_symlink() {
                    format!("-> {}", fs::read_link(&path).expect("a link").display())
                } else if kind.is_dir() {
                    add(&path, state);
                    "folder".to_owned()
                } else {
                    fs::read_to_string(&path).expect("a file")
                };
                state.insert(path.display().to_string(), content);
            }
        }
        let mut state = BTreeMap::new();
        add(self.folder.path(), &mut state);
        state
    }
}

#[test]
fn paths_stay_below_the_root() {
    let root = Root::new();
    let outside = root.folder.path().join("secret");
    root.link("../../../secret", "up");
    root.link(&outside, "absolute");
    root.link("/etc/file", "inside");
    root.link("../../..", "top");
    root.link(root.path(), "self");
    root.link("/../../secret", "etc/up");
    let mut caller = root.caller();
    for path in [
        "../secret",
        "/../secret",
        "/etc/../../secret",
        "/etc/deep/../../../../../../secret",
        "up",
        "absolute",
        "top/secret",
        "self/etc/file",
        "etc/up",
        "/proc/self/root/secret",
        "/proc/self/root/../secret",
        "/proc/self/cwd/../secret",
        "/proc/1000/root/../../secret",
        "/proc/self/task/1000/root/../secret",
        outside.to_str().expect("a name"),
    ] {
        assert_eq!(caller.content(path), Err(Errno::NOENT), "{path}");
    }
    // The top is its own parent, for links too.
    for path in [
        "/../../etc/file",
        "inside",
        "top/etc/file",
        "top/../etc/./file",
        "/proc/self/root/etc/file",
        "/proc/self/cwd/etc/file",
        "/proc/self/root/proc/self/root/etc/file",
    ] {
        assert_eq!(caller.content(path).as_deref(), Ok(&b"inside"[..]), "{path}");
    }
}

#[test]
fn circles_of_symbolic_links_are_an_error() {
    let root = Root::new();
    root.link("loop", "loop");
    root.link("two", "one");
    root.link("/one", "two");
    root.link(".", "here");
    let mut caller = root.caller();
    for path in ["loop", "one", "two/etc/file"] {
        assert_eq!(caller.open(path, 0), Err(Errno::LOOP), "{path}");
    }
    // As many links as Linux follows.
    let steps = |count: usize| format!("{}etc/file", "here/".repeat(count));
    assert!(caller.open(&steps(40), 0).is_ok());
    assert_eq!(caller.open(&steps(41), 0), Err(Errno::LOOP));
    assert_eq!(caller.open("loop", NOFOLLOW), Err(Errno::LOOP));
}

#[test]
fn proc_shows_the_processs_own_descriptors() {
    let root = Root::new();
    let mut caller = root.caller();
    let file = caller.open("/etc/file", 0).expect("a file");
    assert_eq!(caller.content(&format!("/proc/self/fd/{file}")).as_deref(), Ok(&b"inside"[..]));
    assert_eq!(caller.content(&format!("/dev/fd/{file}")).as_deref(), Ok(&b"inside"[..]));
    let buffer = caller.put(&[0; 64]);
    let mut link = |path: &str| {
        let len = caller.at_path("readlink", path, &[buffer, 64])?;
        Ok(String::from_utf8(caller.bytes(buffer, usize::try_from(len).expect("a length"))).expect("text"))
    };
    assert_eq!(link(&format!("/proc/self/fd/{file}")).as_deref(), Ok("/etc/file"));
    assert_eq!(link("/proc/self/cwd").as_deref(), Ok("/"));
    assert_eq!(link("/proc/self/root").as_deref(), Ok("/"));
    assert_eq!(link("/proc/self").as_deref(), Ok("/proc/1000"));
    assert_eq!(link("/proc/self/fd/99"), Err(Errno::NOENT));
    assert_eq!(link("/etc/file"), Err(Errno::INVAL));
}

#[test]
fn writes_stay_in_memory() {
    let root = Root::new();
    root.link("etc/file", "link");
    root.link("../secret", "escape");
    root.link("/new", "dangling");
    let before = root.state();
    let mut caller = root.caller();
    for path in ["link", "escape", "dangling", "etc/file", "/tmp/file"] {
        let file = caller.open(path, CREATE | TRUNCATE | READ_WRITE).expect(path);
        assert_eq!(caller.write(file, path.as_bytes()), Ok(path.len() as u64));
        assert_eq!(caller.content(path).as_deref(), Ok(path.as_bytes()), "{path}");
    }
    // Through its links, the same file.
    assert_eq!(caller.content("link").as_deref(), Ok(&b"etc/file"[..]));
    assert_eq!(caller.content("new").as_deref(), Ok(&b"dangling"[..]));
    assert_eq!(caller.content("secret").as_deref(), Ok(&b"escape"[..]));
    let file = caller.open("/etc/deep/other", WRITE_ONLY | APPEND).expect("a file");
    assert_eq!(caller.write(file, b"!"), Ok(1));
    assert_eq!(caller.call("ftruncate", &[file, 5]), Ok(0));
    assert_eq!(caller.content("/etc/deep/other").as_deref(), Ok(&b"deepe"[..]));
    assert_eq!(caller.at_path("chmod", "/etc/file", &[0]), Ok(0));
    assert_eq!(root.state(), before);
}

#[test]
fn names_change_in_memory() {
    let root = Root::new();
    root.link("etc", "link");
    let before = root.state();
    let mut caller = root.caller();
    let two = |caller: &mut Caller, name: &str, from: &str, to: &str| {
        let (from, to) = (caller.path(from), caller.path(to));
        caller.call(name, &[from, to])
    };
    assert_eq!(two(&mut caller, "rename", "/etc", "/moved"), Ok(0));
    assert_eq!(caller.content("/moved/deep/other").as_deref(), Ok(&b"deeper"[..]));
    assert_eq!(caller.content("/etc/file"), Err(Errno::NOENT));
    assert_eq!(caller.content("/link/file"), Err(Errno::NOENT));
    // A folder of the old name does not have what the host has in it.
    assert_eq!(caller.at_path("mkdir", "/etc", &[0o755]), Ok(0));
    assert_eq!(caller.content("/etc/file"), Err(Errno::NOENT));
    assert_eq!(caller.at_path("rmdir", "/etc", &[]), Ok(0));
    assert_eq!(caller.at_path("rmdir", "/moved", &[]), Err(Errno::NOTEMPTY));
    assert_eq!(two(&mut caller, "rename", "/moved", "/moved/deep/x"), Err(Errno::INVAL));
    assert_eq!(two(&mut caller, "rename", "/moved/file", "/moved/deep"), Err(Errno::ISDIR));
    assert_eq!(two(&mut caller, "rename", "/moved/deep", "/moved/file"), Err(Errno::NOTDIR));
    assert_eq!(two(&mut caller, "rename", "/moved/deep", "/link"), Err(Errno::NOTDIR));
    assert_eq!(two(&mut caller, "rename", "/none", "/other"), Err(Errno::NOENT));
    assert_eq!(two(&mut caller, "link", "/moved/file", "/same"), Ok(0));
    assert_eq!(caller.at_path("unlink", "/moved/file", &[]), Ok(0));
    assert_eq!(caller.at_path("unlink", "/moved/file", &[]), Err(Errno::NOENT));
    assert_eq!(caller.at_path("unlink", "/moved", &[]), Err(Errno::ISDIR));
    assert_eq!(caller.at_path("rmdir", "/same", &[]), Err(Errno::NOTDIR));
    assert_eq!(caller.content("/same").as_deref(), Ok(&b"inside"[..]));
    assert_eq!(caller.at_path("unlink", "/link", &[]), Ok(0));
    assert_eq!(caller.at_path("mkdir", "/none/deeper", &[0o755]), Err(Errno::NOENT));
    assert_eq!(caller.at_path("mkdir", "/same/deeper", &[0o755]), Err(Errno::NOTDIR));
    assert_eq!(caller.at_path("mkdir", "/moved", &[0o755]), Err(Errno::EXIST));
    assert_eq!(caller.at_path("mkdir", "/../..", &[0o755]), Err(Errno::EXIST));
    assert_eq!(root.state(), before);
}

#[test]
fn paths_are_relative_to_a_descriptors_folder() {
    let root = Root::new();
    let before = root.state();
    let mut caller = root.caller();
    let folder = caller.open("/etc", DIRECTORY).expect("a folder");
    let file = caller.open("/etc/file", 0).expect("a file");
    let mut at = |folder: u64, path: &str, flags: u64| {
        let path = caller.path(path);
        caller.call("openat", &[folder, path, flags, 0o600])
    };
    assert!(at(folder, "file", 0).is_ok());
    assert!(at(folder, "deep/../../etc/file", 0).is_ok());
    assert!(at(99, "/etc/file", 0).is_ok(), "the path is absolute");
    assert_eq!(at(folder, "../../secret", 0), Err(Errno::NOENT));
    assert_eq!(at(folder, "", 0), Err(Errno::NOENT));
    assert_eq!(at(file, "file", 0), Err(Errno::NOTDIR));
    assert_eq!(at(99, "file", 0), Err(Errno::BADF));
    assert_eq!(at(HERE, "file", 0), Err(Errno::NOENT));
    assert!(at(folder, "new", CREATE | EXCLUSIVE | WRITE_ONLY).is_ok());
    assert_eq!(at(folder, "new", CREATE | EXCLUSIVE | WRITE_ONLY), Err(Errno::EXIST));
    let name = caller.path("made");
    assert_eq!(caller.call("mkdirat", &[folder, name, 0o755]), Ok(0));
    assert_eq!(caller.call("unlinkat", &[folder, name, 0]), Err(Errno::ISDIR));
    assert_eq!(caller.call("unlinkat", &[folder, name, REMOVE_FOLDER]), Ok(0));
    // A folder of the process, not only of its calls.
    assert_eq!(caller.call("fchdir", &[folder]), Ok(0));
    assert_eq!(caller.content("file").as_deref(), Ok(&b"inside"[..]));
    assert_eq!(caller.call("fchdir", &[file]), Err(Errno::NOTDIR));
    assert_eq!(root.state(), before);
}

#[test]
fn calls_on_files_fail_as_on_linux() {
    let root = Root::new();
    let mut caller = root.caller();
    for (path, flags, errno) in [
        ("/etc", WRITE_ONLY, Errno::ISDIR),
        ("/etc", CREATE | WRITE_ONLY, Errno::ISDIR),
        ("/etc/new/", CREATE | WRITE_ONLY, Errno::ISDIR),
        ("/etc/file", DIRECTORY, Errno::NOTDIR),
        ("/etc/file/", 0, Errno::NOTDIR),
        ("/etc/file/..", 0, Errno::NOTDIR),
        ("/none/..", 0, Errno::NOENT),
        ("/none", WRITE_ONLY, Errno::NOENT),
        ("/dev/tty", READ_WRITE, Errno::NXIO),
        ("/proc/new", CREATE | WRITE_ONLY, Errno::ACCESS),
    ] {
        assert_eq!(caller.open(path, flags), Err(errno), "{path} {flags:#o}");
    }
    let long = "x".repeat(5000);
    assert_eq!(caller.open(&long, 0), Err(Errno::NAMETOOLONG));
    assert_eq!(caller.call("open", &[8, 0]), Err(Errno::FAULT));

    let file = caller.open("/etc/file", 0).expect("a file");
    let folder = caller.open("/etc", 0).expect("a folder");
    let written = caller.open("/tmp/file", CREATE | WRITE_ONLY).expect("a file");
    let buffer = caller.put(&[0; 16]);
    let ends = caller.put(&[0; 8]);
    assert_eq!(caller.call("pipe", &[ends]), Ok(0));
    let (reader, writer) = (caller.word(ends) & 0xffff_ffff, caller.word(ends) >> 32);
    for (name, arguments, errno) in [
        ("read", [99, buffer, 8, 0], Errno::BADF),
        ("read", [written, buffer, 8, 0], Errno::BADF),
        ("read", [folder, buffer, 8, 0], Errno::ISDIR),
        ("read", [file, 8, 8, 0], Errno::FAULT),
        ("read", [writer, buffer, 8, 0], Errno::BADF),
        ("write", [file, buffer, 8, 0], Errno::BADF),
        ("write", [written, 8, 8, 0], Errno::FAULT),
        ("write", [reader, buffer, 8, 0], Errno::BADF),
        ("pread64", [reader, buffer, 8, 0], Errno::SPIPE),
        ("pwrite64", [writer, buffer, 8, 0], Errno::SPIPE),
        ("pread64", [file, buffer, 8, u64::MAX], Errno::INVAL),
        ("lseek", [reader, 0, 0, 0], Errno::SPIPE),
        ("lseek", [file, u64::MAX, 0, 0], Errno::INVAL),
        ("lseek", [file, 0, 9, 0], Errno::INVAL),
        ("ftruncate", [file, 0, 0, 0], Errno::INVAL),
        ("ftruncate", [written, u64::MAX, 0, 0], Errno::INVAL),
        ("ftruncate", [written, 1 << 40, 0, 0], Errno::FBIG),
        ("dup2", [file, 5000, 0, 0], Errno::BADF),
        ("dup3", [file, file, 0, 0], Errno::INVAL),
        ("fcntl", [99, 1, 0, 0], Errno::BADF),
        ("fcntl", [file, 0, 5000, 0], Errno::INVAL),
        ("fcntl", [file, 999, 0, 0], Errno::INVAL),
        ("getdents64", [file, buffer, 16, 0], Errno::NOTDIR),
        ("getdents64", [folder, buffer, 16, 0], Errno::INVAL),
        ("ioctl", [file, 0x5401, buffer, 0], Errno::NOTTY),
        ("getcwd", [buffer, 1, 0, 0], Errno::RANGE),
    ] {
        assert_eq!(caller.call(name, &arguments), Err(errno), "{name} {arguments:x?}");
    }
    assert_eq!(caller.call("close", &[file]), Ok(0));
    assert_eq!(caller.read(file), Err(Errno::BADF));
    assert_eq!(caller.call("close", &[file]), Err(Errno::BADF));
    // The reader is gone.
    assert_eq!(caller.call("close", &[reader]), Ok(0));
    assert_eq!(caller.write(writer, b"x"), Err(Errno::PIPE));
    assert!(caller.linux.has_signal(), "SIGPIPE");
}

#[test]
fn folders_are_no_deeper_than_calls_can_follow_in_good_time() {
    let mut caller = Caller::new();
    assert_eq!(caller.at_path("chdir", "/tmp", &[]), Ok(0));
    let name = caller.path("x");
    let made = (0..2000).find_map(|depth| {
        let made = caller.call("mkdir", &[name, 0o755]).and_then(|_| caller.call("chdir", &[name]));
        made.err().map(|errno| (depth, errno))
    });
    let (depth, errno) = made.expect("an end");
    assert_eq!(errno, Errno::NAMETOOLONG);
    assert!(depth > 100, "{depth}");
    assert_eq!(caller.at_path("chdir", "/", &[]), Ok(0));
    let (from, to) = (caller.path("/tmp/x"), caller.path("/tmp/y"));
    assert_eq!(caller.call("rename", &[from, to]), Ok(0));
    assert_eq!(caller.at_path("access", &format!("/tmp/y{}", "/x".repeat(depth - 1)), &[0]), Ok(0));
}

#[test]
fn descriptors_run_out() {
    let mut caller = Caller::new();
    let path = caller.path("/dev/null");
    let opened = (0..2000).map_while(|_| caller.call("open", &[path, 0]).ok()).last();
    assert_eq!(opened, Some(1023));
    assert_eq!(caller.call("open", &[path, 0]), Err(Errno::MFILE));
    let ends = caller.put(&[0; 8]);
    assert_eq!(caller.call("close", &[700]), Ok(0));
    assert_eq!(caller.call("pipe", &[ends]), Err(Errno::MFILE), "it takes two");
    assert_eq!(caller.call("dup", &[0]), Ok(700));
}
