//! How fast the engine looks up and reads, beside other libraries, on the same code. All figures
//! of a table are from one run, in which they take turns.
//!
//! `ci/adapters --bench [FILE...]` runs it; `harness/adapters/README.md` says what is measured.

mod eh_frame;
mod engine;
mod input;
mod libsframe;
mod simple_frame;

use std::hint::black_box;
use std::process::ExitCode;

use input::Input;
use rustix::time::{ClockId, clock_gettime};

/// How many times each figure is taken.
const ROUNDS: usize = 15;

/// What is measured. Each group has a unit.
#[derive(Clone, Copy, PartialEq)]
enum Group {
    /// Nanoseconds for one PC of many.
    Random,
    /// Nanoseconds for one PC of a few, which a cache holds.
    Hot,
    /// Megabytes of `.sframe` in a second.
    Reading,
}

impl Group {
    const ALL: [(Self, &str); 3] = [
        (Self::Random, "random PCs, ns for each"),
        (Self::Hot, "hot PCs, ns for each"),
        (Self::Reading, "reading all rows, MB/s"),
    ];
}

/// The figures of one library.
struct Figures {
    group: Group,
    name: String,
    /// One for each round, or why there are none.
    rounds: Result<Vec<f64>, String>,
}

/// Nanoseconds for which this thread has had a processor: what else the machine does counts less
/// than on a clock.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Takes a figure.
type Measurement<'i> = Box<dyn FnMut() -> Result<f64, String> + 'i>;

/// A library and how one of its figures is taken.
struct Contender<'i> {
    group: Group,
    name: String,
    measurement: Measurement<'i>,
}

impl<'i> Contender<'i> {
    fn new(group: Group, name: &str, measurement: impl FnMut() -> Result<f64, String> + 'i) -> Self {
        Self { group, name: name.to_owned(), measurement: Box::new(measurement) }
    }

    /// Looks PCs up, one after the other: as in an unwinder, each look-up waits for a value that
    /// the one before has found.
    fn look_up(group: Group, name: &str, pcs: &'i [u64], mut look_up: impl FnMut(u64) -> u64 + 'i) -> Self {
        Self::new(group, name, move || {
            // The compiler does not know that.
            let none = black_box(0);
            let start = processor_time();
            let last = pcs.iter().fold(0, |value, pc| look_up(pc.wrapping_add(value & none)));
            black_box(last);
            Ok((processor_time() - start) / pcs.len() as f64)
        })
    }

    /// Reads everything that a section says.
    fn read(name: &str, input: &'i Input, mut read: impl FnMut() -> Result<u64, String> + 'i) -> Self {
        Self::new(Group::Reading, name, move || {
            let start = processor_time();
            black_box(read()?);
            Ok(input.data.len() as f64 * 1e3 / (processor_time() - start))
        })
    }

    fn missing(group: Group, name: &str, why: &str) -> Self {
        let why = why.to_owned();
        Self::new(group, name, move || Err(why.clone()))
    }
}

/// Lets all take turns, so that a busy moment of the machine harms none alone.
fn measure(contenders: Vec<Contender<'_>>) -> Vec<Figures> {
    let figures =
        |it: &Contender<'_>| Figures { group: it.group, name: it.name.clone(), rounds: Ok(Vec::new()) };
    let mut all: Vec<_> = contenders.into_iter().map(|it| (figures(&it), it)).collect();
    for round in 0..=ROUNDS {
        for (figures, contender) in &mut all {
            let Ok(rounds) = &mut figures.rounds else { continue };
            match (contender.measurement)() {
                // The first round fills the caches of the machine.
                Ok(figure) if round > 0 => rounds.push(figure),
                Ok(_) => {}
                Err(why) => figures.rounds = Err(why),
            }
        }
    }
    all.into_iter().map(|(figures, _)| figures).collect()
}

/// Median, smallest and largest.
fn spread(mut rounds: Vec<f64>) -> [f64; 3] {
    rounds.sort_by(f64::total_cmp);
    let at = |index: usize| rounds.get(index).copied().unwrap_or(f64::NAN);
    [at(rounds.len() / 2), at(0), at(rounds.len().saturating_sub(1))]
}

/// How often one figure goes into another that was taken in the same round: the median.
fn ratio(rounds: &[f64], unit: Option<&Vec<f64>>) -> String {
    let Some(unit) = unit else { return "-".into() };
    let [median, ..] = spread(rounds.iter().zip(unit).map(|(figure, unit)| figure / unit).collect());
    format!("{median:.2}")
}

/// What our own figures are to be: searches, and the ratio to libsframe.
fn aim(group: Group, name: &str) -> &'static str {
    match (group, name) {
        (Group::Random, "engine") => "<= 9; <= 0.30",
        (Group::Random, "engine, with index") => "<= 2.5; <= 0.08",
        (Group::Hot, "engine, cached; look-up and step") => "as framehop",
        (Group::Reading, "engine") => ">= 500; >= 10",
        _ => "",
    }
}

fn print(figures: &[Figures]) {
    let rounds_of = |group: Group, name: &str| {
        figures.iter().find(|it| it.group == group && it.name.starts_with(name))?.rounds.as_ref().ok()
    };
    let search = rounds_of(Group::Random, input::SEARCH);
    for (group, title) in Group::ALL {
        println!(
            "\n{title:<44} {:>9} {:>19} {:>9} {:>11} {:>16}",
            "median", "min..max", "searches", "libsframe=1", "aim"
        );
        let libsframe = rounds_of(group, libsframe::NAME);
        for Figures { name, rounds, .. } in figures.iter().filter(|figures| figures.group == group) {
            let rounds = match rounds {
                Ok(rounds) => rounds,
                Err(why) => {
                    println!("  {name:<42} {why}");
                    continue;
                }
            };
            let [median, min, max] = spread(rounds.clone());
            let range = format!("{min:.1}..{max:.1}");
            let searches = ratio(rounds, search.filter(|_| group != Group::Reading));
            let (peer, aim) = (ratio(rounds, libsframe), aim(group, name));
            println!("  {name:<42} {median:>9.1} {range:>19} {searches:>9} {peer:>11} {aim:>16}");
        }
    }
}

fn bench(input: &Input) -> Result<(), String> {
    println!("\n{input}");
    let mut contenders = vec![input.search()];
    contenders.extend(engine::contenders(input)?);
    contenders.extend(simple_frame::contenders(input)?);
    contenders.extend(eh_frame::contenders(input));
    contenders.extend(libsframe::contenders(input));
    print(&measure(contenders));
    println!("\n{}", engine::memory(input)?);
    Ok(())
}

fn main() -> ExitCode {
    // Cargo passes --bench.
    let files: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    println!("median, least and most of {ROUNDS} rounds; searches: binary searches over the starts alone");
    println!("gimli 0.33.0, framehop 0.16.0, simple-frame-rs 0.3.0, libsframe {}", libsframe::version());
    let inputs = if files.is_empty() { input::of_this_machine() } else { files };
    let results: Vec<_> =
        inputs.iter().map(|file| Input::open(file).and_then(|input| bench(&input))).collect();
    for (file, error) in
        inputs.iter().zip(&results).filter_map(|(file, result)| Some((file, result.as_ref().err()?)))
    {
        eprintln!("{file}: {error}");
    }
    if results.is_empty() || results.iter().any(Result::is_err) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
