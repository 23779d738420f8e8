//! libsframe of binutils, in a process of its own: it may crash.

use std::path::PathBuf;
use std::process::Command;

use crate::{Contender, Group, Input};

/// Its name.
pub const NAME: &str = "libsframe";

/// The program that `ci/adapters --bench` builds.
fn program() -> Result<PathBuf, String> {
    let path = std::env::var_os("LIBSFRAME_BENCH").map(PathBuf::from);
    path.filter(|path| path.is_file()).ok_or_else(|| "not built: ci/adapters --bench builds it".into())
}

/// The version of the source that it was built from.
pub fn version() -> String {
    let Ok(program) = program() else { return "not built".into() };
    let output = Command::new(program).arg("--version").output();
    output.map_or_else(
        |error| error.to_string(),
        |output| String::from_utf8_lossy(&output.stdout).trim().into(),
    )
}

/// What the program has found out.
struct Answer {
    /// Nanoseconds for a PC.
    each: f64,
    /// Nanoseconds for decoding everything.
    all: f64,
}

/// The program with a section and PCs, which it reads from files.
struct Run {
    program: PathBuf,
    section: PathBuf,
    pcs: PathBuf,
    count: usize,
}

impl Run {
    fn new(group: &str, input: &Input, pcs: &[u64]) -> Result<Self, String> {
        let program = program()?;
        let (section, file) =
            (program.with_extension("sframe"), program.with_extension(format!("{group}.pcs")));
        let relative = pcs.iter().flat_map(|pc| pc.wrapping_sub(input.address).to_ne_bytes());
        let failed = |error: std::io::Error| error.to_string();
        std::fs::write(&section, &input.data).map_err(failed)?;
        std::fs::write(&file, relative.collect::<Vec<u8>>()).map_err(failed)?;
        Ok(Self { program, section, pcs: file, count: pcs.len() })
    }

    fn answer(&self) -> Result<Answer, String> {
        let output = Command::new(&self.program).arg(&self.section).arg(&self.pcs).output();
        let output = output.map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let number =
            |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<f64>().ok());
        let [Some(each), Some(all), Some(found)] = ["look-up", "decode", "found"].map(number) else {
            return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()));
        };
        if found < self.count as f64 * 0.9 {
            return Err(format!("it found {found} of {} PCs", self.count));
        }
        Ok(Answer { each, all })
    }
}

fn contender<'i>(
    group: Group,
    run: Result<Run, String>,
    figure: impl Fn(Answer) -> f64 + 'i,
) -> Contender<'i> {
    match run {
        Ok(run) => Contender::new(group, NAME, move || run.answer().map(&figure)),
        Err(why) => Contender::missing(group, NAME, &why),
    }
}

pub fn contenders(input: &Input) -> Vec<Contender<'_>> {
    let random = || Run::new("random", input, &input.random);
    vec![
        contender(Group::Random, random(), |answer| answer.each),
        contender(Group::Hot, Run::new("hot", input, &input.hot), |answer| answer.each),
        contender(Group::Reading, random(), |answer| input.data.len() as f64 * 1e3 / answer.all),
    ]
}
