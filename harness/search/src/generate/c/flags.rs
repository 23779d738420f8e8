//! The flags of compilers that change how frames are made.

use rayon::prelude::*;
use sframe_corpus::corpus::{Error, Maker, Recipe};
use sframe_engine::Abi;

use crate::generate::Random;

/// Flags of every program.
pub(super) const COMMON: &[&str] = &[
    "-std=gnu11",
    "-w",
    "-ffreestanding",
    "-fno-stack-protector",
    "-fno-ident",
    "-fasynchronous-unwind-tables",
    "-Wl,--build-id=none",
];

/// Who has made a compiler: its flags are like those of its relatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// GCC.
    Gcc,
    /// Clang.
    Clang,
}

impl Compiler {
    /// The compiler of a toolchain for an ABI, by the name of its program.
    #[must_use]
    pub fn of(maker: &Maker, abi: Abi) -> Self {
        let is_clang =
            |compiler: &str| compiler.rsplit('/').next().is_some_and(|name| name.contains("clang"));
        let tools = maker.toolchain().abis.get(&abi);
        if tools.is_some_and(|tools| is_clang(&tools.compiler)) { Self::Clang } else { Self::Gcc }
    }
}

/// Flags that exclude one another, by group.
type Group = &'static [&'static [&'static str]];

const BOTH: &[Group] = &[
    &[&["-fomit-frame-pointer"], &["-fno-omit-frame-pointer"]],
    &[&["-fstack-clash-protection"]],
    &[&["-fstack-protector-strong"], &["-fstack-protector-all"]],
    &[&["-fno-optimize-sibling-calls"]],
    &[&["-fno-inline"]],
    &[&["-funroll-loops"]],
    &[&["-fno-jump-tables"]],
    &[&["-ffunction-sections"]],
    &[&["-ftrivial-auto-var-init=pattern"], &["-ftrivial-auto-var-init=zero"]],
    &[&["-fzero-call-used-regs=used"], &["-fzero-call-used-regs=all-gpr"]],
    &[&["-fno-plt"]],
];

const GCC: &[Group] = &[
    &[&["-fno-shrink-wrap"], &["-fno-shrink-wrap-separate"]],
    &[&["-freorder-blocks-and-partition"], &["-fno-reorder-blocks-and-partition"]],
    &[&["-freorder-blocks-algorithm=simple"]],
    &[&["-fno-defer-pop"]],
    &[&["-fno-combine-stack-adjustments"]],
    &[&["-fno-ipa-ra"], &["-fno-ipa-sra"]],
    &[&["-fno-schedule-insns2"], &["-fschedule-insns"]],
    &[&["-fno-crossjumping"]],
    &[&["-fno-caller-saves"]],
    &[&["-fstack-reuse=none"]],
    &[&["-fno-if-conversion"]],
    &[&["-fno-toplevel-reorder"]],
    &[&["-fconserve-stack"]],
    &[&["-fno-dce", "-fno-tree-dce"]],
    &[&["-flive-range-shrinkage"]],
    &[&["-fira-region=all"], &["-fira-region=one"]],
    &[&["-fselective-scheduling2"]],
    &[&["-fno-tree-ch"]],
    &[&["-fsplit-wide-types-early"]],
];

const CLANG: &[Group] = &[
    &[&["-mllvm", "-enable-shrink-wrap=false"], &["-mllvm", "-enable-shrink-wrap=true"]],
    &[&["-mllvm", "-enable-tail-merge=false"]],
    &[&["-mllvm", "-disable-block-placement"]],
];

const AMD64: &[Group] =
    &[&[&["-mno-red-zone"]], &[&["-fcf-protection=full"], &["-fcf-protection=none"]], &[&["-mstackrealign"]]];

const GCC_AMD64: &[Group] = &[
    &[&["-maccumulate-outgoing-args"], &["-mno-accumulate-outgoing-args"]],
    &[&["-mpreferred-stack-boundary=5"], &["-mpreferred-stack-boundary=6"]],
    &[&["-mno-push-args"]],
    &[&["-minline-all-stringops"]],
    &[&["-mtune=atom"], &["-mtune=znver3"], &["-mtune=k8"]],
    &[&["-fpatchable-function-entry=4,2"]],
];

const CLANG_AMD64: &[Group] = &[
    &[&["-mstack-alignment=32"]],
    &[&["-mlvi-cfi"]],
    &[&["-mtune=atom"], &["-mtune=znver3"]],
    &[&["-fpatchable-function-entry=4,2"]],
];

const AARCH64: &[Group] = &[
    &[
        &["-mbranch-protection=standard"],
        &["-mbranch-protection=pac-ret+leaf"],
        &["-mbranch-protection=pac-ret+b-key"],
        &["-mbranch-protection=none"],
    ],
    &[&["-momit-leaf-frame-pointer"], &["-mno-omit-leaf-frame-pointer"]],
    &[&["-mtune=neoverse-n1"], &["-mtune=cortex-a53"]],
    &[&["-fpatchable-function-entry=2"]],
];

const S390X: &[Group] = &[
    &[&["-mbackchain"], &["-mpacked-stack"], &["-mbackchain", "-mpacked-stack", "-msoft-float"]],
    &[&["-march=z10"], &["-march=z196"], &["-march=z13"]],
    &[&["-mtune=z15"]],
    &[&["-mno-mvcle"], &["-mmvcle"]],
    &[&["-mstack-size=65536", "-mstack-guard=32"]],
];

/// Those for amd64, of GNU's linker. With -z mark-plt, relocations add what only a dynamic linker knows to leave.
const GNU_LD_AMD64: &[&str] = &["-Wl,-z,ibtplt", "-Wl,-z,ibt"];

/// Another level of optimisation, which comes after the first and counts.
const SMALLEST: &[Group] = &[&[&["-Oz"]]];

/// What hardens code against speculation, and changes how it returns and jumps.
const HARDENED: &[Group] = &[
    &[&["-mspeculative-load-hardening"], &["-mtrack-speculation"]],
    &[&["-mfunction-return=thunk-inline"], &["-mindirect-branch=thunk-inline"]],
];

/// How often a group is used, in programs of a hundred.
const OFTEN: u64 = 12;
/// How often the first group is used, which decides what has a frame pointer.
const FIRST: u64 = 60;

fn groups(compiler: Compiler, abi: Abi) -> Vec<Group> {
    let of_compiler = match compiler {
        Compiler::Gcc => GCC,
        Compiler::Clang => CLANG,
    };
    let of_abi = match abi {
        Abi::Amd64 => AMD64,
        Abi::Aarch64 | Abi::Aarch64Be => AARCH64,
        Abi::S390x => S390X,
    };
    let of_both = match (compiler, abi) {
        (Compiler::Gcc, Abi::Amd64) => GCC_AMD64,
        (Compiler::Clang, Abi::Amd64) => CLANG_AMD64,
        (_, Abi::Aarch64 | Abi::Aarch64Be | Abi::S390x) => &[],
    };
    [BOTH, of_compiler, of_abi, of_both, SMALLEST].concat()
}

/// The flags that GNU's linker has for an ABI alone.
pub(super) const fn of_linker(abi: Abi) -> &'static [&'static str] {
    match abi {
        Abi::Amd64 => GNU_LD_AMD64,
        Abi::Aarch64 | Abi::Aarch64Be | Abi::S390x => &[],
    }
}

/// Whether GNU's linker writes unwind information of its own, for its PLTs, and knows a flag about it.
pub(super) const fn writes_unwind_information(abi: Abi) -> bool {
    match abi {
        Abi::Amd64 | Abi::S390x => true,
        Abi::Aarch64 | Abi::Aarch64Be => false,
    }
}

/// Draws flags: each entry can be dropped without the others.
pub(super) fn draw(random: &mut Random, compiler: Compiler, abi: Abi) -> Vec<Vec<String>> {
    draw_from(random, &groups(compiler, abi), FIRST)
}

/// Draws flags that harden code, in the same way.
pub(super) fn draw_hardened(random: &mut Random) -> Vec<Vec<String>> {
    draw_from(random, HARDENED, OFTEN)
}

fn draw_from(random: &mut Random, groups: &[Group], first: u64) -> Vec<Vec<String>> {
    let mut drawn = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let often = if index == 0 { first } else { OFTEN };
        // The choice is made in any case, so that a group does not change the ones behind it.
        let (is_used, flags) = (random.percent(often), random.pick(group));
        if is_used {
            drawn.push(flags.iter().map(|flag| (*flag).to_owned()).collect());
        }
    }
    drawn
}

/// Returns the flags that a compiler knows, of those that can be drawn.
///
/// # Errors
/// The compiler does not make even an empty program, or can't be started.
pub fn known_flags(maker: &Maker, abi: Abi) -> Result<Vec<Vec<String>>, Error> {
    let owned = |flags: &&[&str]| -> Vec<String> { flags.iter().map(|flag| (*flag).to_owned()).collect() };
    let groups = [&*groups(Compiler::of(maker, abi), abi), HARDENED].concat();
    let all: Vec<Vec<String>> = groups.iter().flat_map(|group| group.iter().map(owned)).collect();
    compiles(maker, abi, &[])?;
    let tried = |flags: Vec<String>| Ok(knows(maker, abi, &flags)?.then_some(flags));
    let tried: Vec<Option<Vec<String>>> = all.into_par_iter().map(tried).collect::<Result<_, Error>>()?;
    Ok(tried.into_iter().flatten().collect())
}

/// Whether a compiler knows some flags.
pub(super) fn knows(maker: &Maker, abi: Abi, flags: &[String]) -> Result<bool, Error> {
    match compiles(maker, abi, flags) {
        Ok(()) => Ok(true),
        Err(Error::Compiler { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

fn compiles(maker: &Maker, abi: Abi, flags: &[String]) -> Result<(), Error> {
    let name = "empty.c".to_owned();
    let text = "void _start(void) { for (;;) __asm__ volatile(\"\"); }\n".to_owned();
    let mut compile: Vec<String> = COMMON.iter().map(|flag| (*flag).to_owned()).collect();
    compile.extend(flags.iter().cloned());
    let object = sframe_corpus::corpus::RecipeObject {
        sources: vec![name.clone()],
        flags: Vec::new(),
        writes_sframe: true,
        joint: sframe_corpus::corpus::Joint::Apart,
    };
    let link = super::links::Form::Static.flags().iter().map(|flag| (*flag).to_owned()).collect();
    maker.link(abi, &Recipe { sources: vec![(name, text)], objects: vec![object], compile, link }).map(|_| ())
}
