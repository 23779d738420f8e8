//! The end of `--help` texts: examples, and exit statuses if they have a
//! special meaning. The manual pages are made from the same text.
//!
//! A text consists of blocks separated by empty lines. If a block's first line
//! ends with a colon, it is a section with that title and indented lines; other
//! blocks are remarks.

pub(super) const MAIN: &str = "\
Examples:
  sframe-testbench check corpus/builds/gnu-2.47/amd64/leaf.O2
  sframe-testbench run --spec recursion --report report

Exit status:
  0  all as expected
  1  a finding
  2  unusable arguments or input
  3  nothing was compared, or too little
  4  broken: the bench could not do its work

harness/guide has the user's guide.";

pub(super) const RUN: &str = "\
Examples:
  sframe-testbench run
  sframe-testbench run --spec 'signal*' --abi s390x --toolchain gnu-2.47
  sframe-testbench run --case recursion/gnu-2.47/amd64/O2
  sframe-testbench run --shard 1/4 --report shards/1
  sframe-testbench run --spec recursion --unwinder target/debug/sframe-engine-unwinder

Exit status:
  0  all as expected
  1  a finding that no spec knows; with --baseline, one that is not in the baseline
  2  unusable arguments, spec, corpus or unwinder
  3  nothing was compared
  4  a case is broken, and there is no --baseline";

pub(super) const TRY: &str = "\
Examples:
  sframe-testbench try recursion
  sframe-testbench try recursion --toolchain gnu-2.47 --abi s390x --variant O2
  sframe-testbench try my_program --bless

A program needs neither a build in the corpus nor a spec. A spec must hold in full, unless it was written
for builds of the corpus and this toolchain is not one of the corpus.

Exit status:
  0  all as expected
  1  a finding
  2  unusable arguments, corpus or spec; no toolchain is installed
  3  nothing was compared: no spec is about these builds
  4  broken: no build could be made, the program's result is wrong, or the bench could not do its work";

pub(super) const CHECK: &str = "\
Examples:
  sframe-testbench check corpus/builds/gnu-2.47/amd64/realign.O2
  sframe-testbench check corpus/builds/gnu-2.47/s390x/recursion.O2 --report report --json
  sframe-testbench check ./program --library-path lib -- first second
  sframe-testbench check ./program --from eh-frame --write-known known.yaml
  sframe-testbench check ./program --from eh-frame --known known.yaml
  sframe-testbench check ./program --from-function main --per-place 3
  sframe-testbench check ./program --native --from either -- first second
  sframe-testbench check root/usr/bin/lua --root root --from either --cwd /tmp --env LANG=C -- sort.lua
  sframe-testbench check root/bin/sed --root root --stdin text --expect-stdout expected --exit-status 0 -- -n 3p

Exit status:
  0  no finding, or only known ones
  1  a finding, or a known one that is gone or has changed
  2  the file, or a library of it, can't be used
  3  nothing was compared, or too little: no FDE, not in the sample, or the unwinder was not asked; an FDE is missing
     for more than a tenth of what could have one (--coverage); too much was excluded (--allow-excluded)
  4  broken: the program did not end as it should, the run was interrupted or took too long,
     or the bench could not follow it. The report has the results so far

The emulator is a sandbox. With --native the program acts on this host, without a sandbox.

An interrupt (SIGINT, SIGTERM) ends the run with its report; a second one, a second later, kills it.";

pub(super) const EXPLORE: &str = "\
Examples:
  sframe-testbench explore corpus/builds/gnu-2.47/amd64/recursion.O2
  sframe-testbench explore root/lib/libc.so.6 --from eh-frame --report report
  sframe-testbench explore libfoo.so --functions 'parse_*' --possible
  sframe-testbench explore module.ko --as-module

Each function is executed from its entry with a made-up caller, both ways at each branch. Calls are
stepped over, and memory appears where there is none. A row is proved to be wrong if it is wrong on every
path to some instruction; each finding says what its path assumes.

Exit status:
  0  no row is proved to be wrong
  1  a finding: a row is proved to be wrong
  2  the file can't be used, or has no section
  3  no row was judged, or fewer than nine tenths of those that have a caller (--coverage)
  4  broken: the bench could not do its work, or was interrupted";

pub(super) const SAMPLES: &str = "\
Examples:
  sframe-testbench samples perf.data
  sframe-testbench samples perf.data --from either --root /srv/root-of-that-machine
  sframe-testbench samples core.1 core.2 --json

Recordings are made with perf record --call-graph dwarf,32768 ./program. A sample has no call stack to compare with:
rows that say something else than call frame information are explored, and those that are proved to be wrong are
findings.

Exit status:
  0  no row is proved to be wrong
  1  a row of SFrame is proved to be wrong
  2  a recording, or a file that it names, can't be used; or a file has another build ID
  3  in less than half of the samples both SFrame and CFI lead to a caller
  4  interrupted";

pub(super) const STUDY: &str = "\
Examples:
  sframe-testbench study corpus/builds/gnu-2.47/amd64/recursion.O2
  sframe-testbench study root/bin/program --root root --every 50 -- first second
  sframe-testbench study ./program --json > studies/mine/program.json
  sframe-testbench study --page studies

Exit status:
  0  the study is done
  1  a row of SFrame is wrong; check says more of it
  2  the file, or a library of it, can't be used
  3  no stack was walked
  4  broken: the program did not end as it should, the run was interrupted or took too long,
     or the bench could not follow it";

pub(super) const VECTORS: &str = "\
Examples:
  sframe-testbench vectors
  sframe-testbench vectors --only 'step/*' --unwinder target/debug/sframe-engine-unwinder
  sframe-testbench vectors --stacks stacks.json --unwinder target/debug/sframe-engine-unwinder

Exit status:
  0  all answers are right
  1  wrong answers
  2  unusable arguments, vectors or unwinder
  3  nothing was compared: the unwinder answers no questions about sections, or only those about headers; or, of a
     profile, fewer than half of the vectors
  4  the unwinder can't be asked any more";

pub(super) const EXPORT: &str = "\
Examples:
  sframe-testbench export stacks --output stacks.json
  sframe-testbench export stacks --format c --output sframe-stacks.h
  sframe-testbench export vectors --format c --output sframe-vectors.h

What is exported is under MIT, Apache-2.0 or GPL-2.0-only, at your option.";

pub(super) const EXPORT_STACKS: &str = "\
Examples:
  sframe-testbench export stacks --output stacks.json
  sframe-testbench export stacks --toolchain gnu-2.47 --abi amd64 --moments 50 --format c --output sframe-stacks.h
  sframe-testbench export stacks --output stacks.json root/usr/bin/lua --root root -- sort.lua
  sframe-testbench vectors --stacks stacks.json --unwinder ./mine
  sframe-testbench export stacks --format perf --output moments; perf script -i moments/amd64.data --symfs corpus/builds

With --format perf, a profiler reads the moments as samples: stacks.json has the call stacks that it has to show. Paths are
below corpus/builds.

The same seed, corpus and bench give the same file. The C header has a function run_exported_stacks (run_exported_NAME
with --name), which takes a reader as harness/adapters/c/sframe-kit.h describes it.

Exit status:
  0  written
  2  unusable arguments, corpus, specs or program
  3  no moment was found
  4  broken: the program can't be run, or the file can't be written";

pub(super) const EXPORT_VECTORS: &str = "\
Examples:
  sframe-testbench export vectors --output vectors.json
  sframe-testbench export vectors --profile v3-kernel-user --format c --output sframe-vectors.h
  sframe-testbench export vectors --format bin --output vectors

Each answer that is accepted says why: `must` (the text), `reading` (the text is open, and can be read so) or
`quality` (there is a better answer). The C header has a function run_exported_vectors, run_exported_vectors_PROFILE or,
with --name, run_exported_NAME, which takes a reader as harness/adapters/c/sframe-kit.h describes it.

Exit status:
  0  written
  2  unusable arguments or vectors
  4  the file can't be written";

pub(super) const CLAUSES: &str = "\
Examples:
  sframe-testbench clauses --version 3 --side consumer
  sframe-testbench clauses --unproved

Exit status:
  0  each clause is proved, or has a reason why not
  1  a clause has neither, or both
  2  unusable arguments, catalogue, specs or vectors
  3  no clause is selected
  4  interrupted";

pub(super) const FAULTS: &str = "\
Examples:
  sframe-testbench faults
  sframe-testbench faults gas
  sframe-testbench faults ld-plt-got
  sframe-testbench faults ld-plt-got --report bugzilla
  sframe-testbench faults --toolchain gnu-2.47

Exit status:
  0  the toolchains, if any were named, have the faults that pages say, and no others
  1  one has a fault, or does not have it, in a version for which its page says otherwise
  2  unusable arguments, pages, specs, corpus or toolchain
  3  no known bug is about a component of these toolchains
  4  a toolchain can't make an example, or its build can't be judged";

pub(super) const MUTATE: &str = "\
Examples:
  sframe-testbench mutate --spec recursion --toolchain gnu-2.47 --abi amd64
  sframe-testbench mutate --sample 1000 --seed 7 --json

Exit status:
  0  every mutant that a run exercises was noticed, or is right for a reason that was checked
  1  some mutants were not noticed: each is listed
  2  unusable arguments, specs or corpus
  3  no mutant was exercised
  4  a case does not pass even with its true section";

pub(super) const MATRIX: &str = "\
Examples:
  sframe-testbench matrix corpus/matrix/host.yaml --spec 'leaf*'
  sframe-testbench matrix acme.yaml --report report
  sframe-testbench matrix gnu-2.44 --reference gnu-2.47 --toolchains target/toolchains

The linker that each compiler calls is also tried with the cases of `links`, unless --spec or --variant select programs.

Exit status:
  0  nothing is worse than with the reference
  1  something is worse, the reference has a build of which there is none or one without a section, or the linker does what
     its description does not know; with --strict, also if any other build is refused or has no section
  2  unusable arguments or definition, or no compiler of a toolchain can be started
  3  nothing was compared, or too little of what linkers are tried with
  4  broken: a case that is not broken with the reference; nothing is worse";

pub(super) const MERGE: &str = "\
Examples:
  sframe-testbench merge shards/* --report report
  sframe-testbench merge shards/* --baseline baseline.json

Exit status:
  That of the run without shards; 2 if these are not all shards of one run; the error names what differs.";

pub(super) const BASELINE: &str = "\
Examples:
  sframe-testbench baseline create baseline.json report/report.json
  sframe-testbench baseline update baseline.json report/report.json

Exit status:
  0  written, or nothing to change
  1  update: something is worse than in the baseline, and stays as it was there
  2  unusable files, a report of part of a run or in another format, or create would replace one";

pub(super) const VERIFY: &str = "\
Examples:
  sframe-testbench verify report
  sframe-testbench verify report --waivers waivers.yaml

Exit status:
  0  each part of the corpus that was run may be claimed
  1  a part that was run may not be claimed, or a waiver does not hold
  2  the report is no proof, or unusable arguments
  3  no part was run";

pub(super) const COMPARE: &str = "\
Examples:
  sframe-testbench compare yesterday/report.json report/report.json
  sframe-testbench compare before after --report changes

Exit status:
  0  nothing is worse
  1  a case is worse
  2  a file is not a report; or the reports are of different kinds, or of different samples
  3  the second report has judged no case that both have
  4  the changes can't be written, or it was interrupted";

pub(super) const SITE: &str = "\
Examples:
  sframe-testbench site scoreboard report/report.json links.json
  sframe-testbench site scoreboard last-year/report.json report/report.json reader.json

Exit status:
  0  written
  2  a file is no such report, or of a command that was interrupted; or the folder has something else in it
  4  the pages can't be written";

pub(super) const BLESS: &str = "\
Examples:
  sframe-testbench bless recursion --dry-run
  sframe-testbench bless 'signal*'

Exit status:
  0  done, or nothing to change
  2  unusable specs; builds whose call stacks differ; or the variable CI is set, without --dry-run
  4  a program does not run as it should";

pub(super) const REBUILD: &str = "\
Examples:
  sframe-testbench rebuild --check
  sframe-testbench rebuild --only /leaf. --toolchains target/toolchains

Exit status:
  0  done; with --check, nothing would differ
  1  --check: something would differ
  2  an unusable definition of a program or toolchain
  4  a toolchain is missing, or a program can't be built";

pub(super) const EXPLAIN: &str = "\
Examples:
  sframe-testbench explain wrong-cfa
  sframe-testbench explain SF402 by-luck
  sframe-testbench explain

`clauses` explains clauses of the specifications, and `faults` what is known to be wrong in toolchains.

Exit status:
  0  the name is explained
  2  nothing has that name";

pub(super) const SCHEMA: &str = "\
Examples:
  sframe-testbench schema report > report.schema.json
  sframe-testbench schema protocol

Keys are only ever added to documents that the bench writes: their schemas allow more.";

pub(super) const MAN: &str = "\
Examples:
  sframe-testbench man | man -l -
  sframe-testbench man check | man -l -
  sframe-testbench man --dir ~/.local/share/man/man1
  sframe-testbench man --dir ~/.local/share/man/man1 --program sframe-inspect";

pub(super) const COMPLETIONS: &str = "\
Examples:
  sframe-testbench completions bash > ~/.local/share/bash-completion/completions/sframe-testbench
  sframe-testbench completions zsh > ~/.zfunc/_sframe-testbench
  sframe-testbench completions zsh --program sframe-inspect > ~/.zfunc/_sframe-inspect";

pub(super) const GENERATE: &str = "\
Examples:
  sframe-testbench generate assembly --toolchain corpus/matrix/host.yaml --abi amd64 --programs 100
  sframe-testbench generate c --toolchain corpus/matrix/host.yaml --programs 10
  sframe-testbench generate sections --sections 100000

Exit status: see each kind.";

pub(super) const GENERATE_SECTIONS: &str = "\
Examples:
  sframe-testbench generate sections --sections 100000
  sframe-testbench generate sections --abi s390x --format 3 --unwinder target/debug/sframe-engine-unwinder
  sframe-testbench generate sections --print --seed 7 --first 3

Every fourth section or so breaks one rule. The engine of this project has to notice each of them, with the
reason; of other readers only an answer is demanded, and right answers about everything else. Without
--readings, nothing is asked that the specification leaves to the reader.

Exit status:
  0  all answers are right
  1  a reader gives wrong answers, or none: the causes are listed
  2  unusable arguments or unwinder
  3  nothing was compared
  4  the bench contradicts itself: its engine or its writer is wrong; the unwinder can't be asked any more;
     or the search was interrupted: what was found so far is reported";

pub(super) const GENERATE_ASSEMBLY: &str = "\
Examples:
  sframe-testbench generate assembly --toolchain gnu-2.47 --abi amd64 --programs 100
  sframe-testbench generate assembly --source --abi s390x --seed 7 --first 3
  sframe-testbench generate assembly --programs 1000 --pages target/found

Exit status:
  0  every section is right, except for faults that have a page
  1  a section is wrong, or a tool crashes, in another way: the causes are listed
  2  a toolchain can't be used
  3  no program was made
  4  the bench contradicts itself, could not do its work, or was interrupted: what was found so far is reported";

pub(super) const GENERATE_C: &str = "\
Examples:
  sframe-testbench generate c --toolchain gnu-2.47 --abi amd64 --programs 100
  sframe-testbench generate c --toolchain corpus/matrix/host.yaml --links --seed 7
  sframe-testbench generate c --source --abi s390x --seed 7 --first 3
  sframe-testbench generate c --programs 100 --links --pages target/found

Each program is made at five levels of optimisation with the same flags, which are drawn. It computes a
number that must be the same at each.

Exit status:
  0  every section is right, except for faults that have a page
  1  a section is wrong in another way, a program depends on its level, or a tool crashes in another
     way: the causes are listed
  2  a toolchain can't be used
  3  no program was made
  4  the bench contradicts itself, could not do its work, or was interrupted: what was found so far is reported";

pub(super) const LINKS: &str = "\
Examples:
  sframe-testbench links --linker ld.mold --abi amd64
  sframe-testbench links --linker 'my-ld --experimental' --only 'gc_*' --verbose
  sframe-testbench links ld-2.47 mold --report report
  sframe-testbench links --objcopy llvm-objcopy --strip llvm-strip

Nothing is compiled: the objects are in corpus/links/objects. Where a linker refuses a case, it is asked again with objects that
have no .sframe; if it refuses these too, the case is not judged.

Exit status:
  0  all as expected
  1  something is wrong that the linker's description does not know, or does know and nothing shows
  2  unusable arguments, cases or description; the linker can't be started, or the toolchain is not installed
  3  nothing was judged
  4  broken: the bench could not do its work";

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use crate::cli::Arguments;

    /// The examples of a command and of its subcommands.
    fn examples(command: &clap::Command) -> Vec<String> {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let own = help.lines().filter_map(|line| line.strip_prefix("  sframe-testbench "));
        let own = own.map(|line| format!("sframe-testbench {line}"));
        own.chain(command.get_subcommands().flat_map(examples)).collect()
    }

    #[test]
    fn examples_are_commands() {
        let examples = examples(&Arguments::command());
        assert!(examples.len() > 30, "{examples:?}");
        for example in examples {
            let command = example.split(['|', '>', ';']).next().unwrap_or_default();
            let words = shlex::split(command).expect("words");
            if let Err(error) = Arguments::try_parse_from(words) {
                panic!("{example}: {error}");
            }
        }
    }
}
