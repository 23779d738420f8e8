//! Other programs: execve(2).

use rustix::io::Errno;

use crate::linux::answer::{Answer, Execute};
use crate::linux::kernel::Linux;
use crate::linux::objects::disk::{Entry, path_of};
use crate::linux::user::{User, int};

impl Linux {
    pub(crate) fn execve(&mut self, user: &User<'_, '_>, a: [u64; 6]) -> Answer {
        self.execute(user, -100, a)
            .map_or_else(|errno| Answer::Done(Err(errno)), |execute| Answer::Execute(Box::new(execute)))
    }

    pub(crate) fn execveat(&mut self, user: &User<'_, '_>, a: [u64; 6]) -> Answer {
        let [folder, rest @ ..] = a;
        let rest = [rest[0], rest[1], rest[2], 0, 0, 0];
        self.execute(user, int(folder), rest)
            .map_or_else(|errno| Answer::Done(Err(errno)), |execute| Answer::Execute(Box::new(execute)))
    }

    /// Finds the program, and the interpreter of a script.
    fn execute(&mut self, user: &User<'_, '_>, folder: i32, a: [u64; 6]) -> Result<Execute, Errno> {
        let name = user.text(a[0])?;
        // No list is an empty one, and a program has a name at least.
        let list = |address| if address == 0 { Ok(Vec::new()) } else { user.texts(address) };
        let (mut arguments, environment) = (list(a[1])?, list(a[2])?);
        if arguments.is_empty() {
            arguments.push(Vec::new());
        }
        let (folder, name_path) = self.place(folder, &name)?;
        let processes = self.proc();
        let mut path = self.disk.resolve(&processes, &folder, &name_path, true)?;
        let mut script = name;
        // A script's interpreter may be a script.
        for _ in 0..4 {
            let Entry::File(file) = self.disk.entry(&processes, &path)? else { return Err(Errno::ACCESS) };
            if self.disk.mode(file) & 0o111 == 0 {
                return Err(Errno::ACCESS);
            }
            let start = self.disk.read_at(file, 0, 256)?;
            let Some(line) = start.strip_prefix(b"#!") else {
                return Ok(Execute { path, arguments, environment });
            };
            let line: Vec<u8> = line.iter().copied().take_while(|byte| *byte != b'\n').collect();
            let line = line.trim_ascii();
            let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
            let (interpreter, option) = (line[..end].to_vec(), line[end..].trim_ascii().to_vec());
            path = self.disk.resolve(&processes, &folder, &path_of(&interpreter), true)?;
            let mut all = vec![interpreter.clone()];
            all.extend((!option.is_empty()).then_some(option));
            all.push(script);
            all.extend(arguments.into_iter().skip(1));
            (arguments, script) = (all, interpreter);
        }
        Err(Errno::LOOP)
    }
}
