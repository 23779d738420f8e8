//! Bugs in programs that their pages have not seen: each is named there, and what looks like it and is another is not.

use std::collections::BTreeSet;

use rstest::rstest;
use serde_json::Value;
use sframe_corpus::corpus::{MadeExample, Toolchain};
use sframe_corpus::spec::{Example, Fault, Faults, FaultySection};
use sframe_engine::Abi;
use sframe_judge::examine::stop::StopRequest;

use crate::command::{are_installed, bench, json, status, toolchains};
use crate::common::repository;

fn page(name: &str) -> Fault {
    Faults::load(&repository().join("specs")).expect("pages").get(name).expect("a page").clone()
}

/// A program in the folder that goes with the result: made by a toolchain, if it is installed, for the page of a fault.
fn program(page: &Fault, toolchain: &str, abi: Abi, flags: &str, source: &str) -> Option<MadeExample> {
    let toolchain =
        Toolchain::load(&Toolchain::path_in(&repository().join("corpus"), toolchain)).expect("a toolchain");
    are_installed([&*toolchain.name])[0].then_some(())?;
    let tools = toolchain.abis.get(&abi).expect("a compiler");
    let compiler = format!("{} {}", tools.compiler, tools.flags.join(" "));
    let name = if source.contains(".cfi_") { "other.s" } else { "other.c" };
    let sframe = match (compiler.contains("clang"), page.section) {
        (true, FaultySection::EhFrame) => "-fuse-ld=lld -fasynchronous-unwind-tables",
        (true, FaultySection::Sframe) => "-fuse-ld=lld -Wa,--allow-experimental-sframe,--gsframe",
        (false, _) => "-Wa,--gsframe",
    };
    let example = Example {
        abi,
        sources: [(name.to_owned(), source.to_owned())].into(),
        commands: vec![format!("{compiler} -nostdlib -static {sframe} {flags} -o other {name}")],
        program: "other".to_owned(),
        ..page.example.clone()
    };
    Some(
        MadeExample::make("other", &example, &toolchain, &toolchains(), &StopRequest::default())
            .expect("a program"),
    )
}

/// What `check` or `explore` says of a program: the status, and the bugs that it names.
fn named(page: &Fault, command: &str, made: &MadeExample) -> (i32, BTreeSet<String>, Value) {
    let file = made.program().display().to_string();
    let exploring: &[&str] = if command == "check" { &["--no-explore"] } else { &[] };
    let from: &[&str] = match page.section {
        FaultySection::EhFrame => &["--from", "eh-frame"],
        FaultySection::Sframe => &[],
    };
    let output = bench(&[&[command, &file, "--json", "--known-faults"], exploring, from].concat());
    let report = json(&output);
    let known = report["known"].as_array().into_iter().flatten().filter_map(|seen| seen["fault"].as_str());
    (status(&output), known.map(str::to_owned).collect(), report)
}

const CONSTANTS: &str = "
    volatile int s; struct p { int a, b, c, d; } all[9];
    __attribute__((noipa)) int g(int a, int b, int c, int d, int e, int f) { return a + b + c + d + e + f; }
    __attribute__((noipa)) int f1(void) { return g(1, 2, 3, -4, 5, 6) + g(7, -8, 9, 10, 100, -100); }
    __attribute__((noipa)) int f2(int n) { int r = 0; for (int i = 0; i < 7; i++) r += n / 5 + n % 7; s = r; return r; }
    __attribute__((noipa)) long f3(int n) { switch (n) { case 1: return 4; case 2: return -9; case 3: return g(n, 1, 9, n, 2, 5); } return 77; }
    __attribute__((noipa)) void f4(struct p *p) { *p = (struct p) { 1, 2, 3, 4 }; for (int i = 0; i < 5; i++) p[i % 3].d += g(i, 5, 5, 5, 5, 5); }
    void _start(void) { f1(); f2(4); for (int i = 0; i < 5; i++) f3(i); f4(all); for (;;) {} }";

const ALIGNED: &str = "
    void *volatile sink;
    __attribute__((noipa)) void use(void *p, void *q) { sink = p; sink = q; }
    __attribute__((noipa)) int f1(int n, int m) { _Alignas(128) int a[32]; if (n > 3) { char v[n]; use(a, v); return a[n]; } use(a, &m); return m; }
    __attribute__((noipa)) void f2(int a, int b, int c, int d, int e, int f, int g, int h) { _Alignas(32) char v[h]; _Alignas(64) int w[4]; use(v, w); use(&g, &a); }
    __attribute__((noipa)) void *f3(int n) { _Alignas(64) char a[64]; void *p = __builtin_alloca(n); for (int i = 0; i < n; i++) use(p, __builtin_alloca(9)); use(a, p); return sink; }
    void _start(void) { f1(2, 3); f1(7, 7); f2(1, 2, 3, 4, 5, 6, 7, 8); f3(3); for (;;) {} }";

const SAVES: &str = "
    void __attribute__((noinline)) g(void *p) { __asm__ volatile(\"\" :: \"r\"(p)); }
    __attribute__((ms_abi, noinline)) int f1(int n) { char v[200]; g(v); g(v + n); return n + 1; }
    __attribute__((ms_abi, noinline)) void f2(int n) { __asm__ volatile(\"\" ::: \"xmm6\", \"xmm8\"); }
    __attribute__((ms_abi, noinline)) void f3(void) { __asm__ volatile(\"\" ::: \"xmm6\"); }
    __attribute__((preserve_all, noinline)) void f4(int n) { char v[40]; g(v); }
    __attribute__((regcall, noinline)) int f5(int n) { char v[40]; g(v); return n + 1; }
    void _start(void) { f1(1); f2(2); f3(); f4(4); f5(5); for (;;) {} }";

const BRANCHES: &str = "
    void __attribute__((noinline)) g(void) { __asm__ volatile(\"nop\"); }
    void __attribute__((noinline)) h(void) { __asm__ volatile(\"nop; nop\"); }
    __attribute__((noinline)) void f1(int a, int b) { volatile int x = a; g(); if (a == b) g(); else h(); }
    __attribute__((noinline)) void f2(int a, unsigned char b) { volatile int x[9]; x[a] = b; g(); if (b > 9) g(); else h(); }
    __attribute__((noinline)) void f3(int a, int c) { g(); h(); if (a & 0x100) { g(); } else if (c) h(); else g(); }
    int __attribute__((noinline)) k(int a) { __asm__ volatile(\"\" : \"+r\"(a)); return a + 1; }
    int __attribute__((noinline)) m(int a) { __asm__ volatile(\"\" : \"+r\"(a)); return a + 2; }
    __attribute__((noinline)) int f4(int a) { volatile char v[20]; v[a] = 1; int r = k(a); if (r < 4) return k(r); return m(r); }
    __attribute__((noinline)) void f5(void *a, void *b) { volatile int x = 1; g(); if (a) g(); else if (b) h(); }
    void _start(void) {
      f4(1); f4(7); f5(0, 0); f5(g, 0); f5(0, g);
      f1(1, 1); f1(1, 2); f2(1, 2); f2(1, 22); f3(1, 1); f3(0x100, 0); f3(2, 0);
      for (;;) {}
    }";

const JUMPS: &str = "
    void *buffer[5], *volatile sink;
    __attribute__((noinline)) void use(void *p) { sink = p; }
    __attribute__((noinline)) static void f1(void) { __builtin_longjmp(buffer, 1); }
    __attribute__((noinline)) static void f2(int n) { _Alignas(64) char v[64]; use(v); if (n) __builtin_longjmp(buffer, 1); use(v); }
    __attribute__((noinline)) static void f3(int n) { char v[n]; use(v); __builtin_longjmp(buffer, 1); }
    __attribute__((noinline)) static double f4(double a) { double b = a * a; if (b > 4) __builtin_longjmp(buffer, 1); return b + a; }
    __attribute__((noinline)) static int f5(int n)
    {
        __label__ out; int v[n], r = 0;
        void __attribute__((noinline)) g(int m) { r += m; if (m) goto out; use(v); }
        g(0); g(n); out: use(v); return r;
    }
    void _start(void)
    {
        volatile int i = 0;
        if (__builtin_setjmp(buffer) == 0) f1();
        if (++i == 1 && __builtin_setjmp(buffer) == 0) f2(30);
        if (++i <= 3 && __builtin_setjmp(buffer) == 0) f3(30);
        if (++i <= 4 && __builtin_setjmp(buffer) == 0) f4(i);
        f5(i);
        for (;;) {}
    }";

const ONE_JUMP: &str = "
    void *buffer[5];
    __attribute__((noinline)) static void f(void) { __builtin_longjmp(buffer, 1); }
    void _start(void) { if (__builtin_setjmp(buffer) == 0) f(); for (;;) {} }";

const FRAMES: &str = "
    void *volatile sink; volatile double d;
    int __attribute__((noinline)) g(int x) { __asm__ volatile(\"\" : \"+r\"(x)); return x + 1; }
    void __attribute__((noinline)) use(void *p) { sink = p; }
    __attribute__((noinline)) int f1(int x) { return g(x) + g(x + 1); }
    __attribute__((noinline)) void f2(int n) { char v[n]; use(v); use(&n); }
    __attribute__((noinline)) long f3(long a, long b, long c, long d, long e, long f, long h) { use(&a); return g(a) + b + c + d + e + f + h; }
    __attribute__((noinline)) int f4(int x) { use(&x); return g(x); }
    __attribute__((noinline)) double f5(double a, double b) { use(&a); d = b; use(&b); return a * d; }
    __attribute__((noinline)) int f6(int x) { char v[6000]; use(v); return v[x] + g(x); }
    __attribute__((noinline)) int f7(int (*p)(int), int x) { use(p); return p(x + 1); }
    __attribute__((noinline)) void f8(void) { _Alignas(64) char v[64]; use(v); }
    void _start(void) { f1(1); f2(9); f3(1, 2, 3, 4, 5, 6, 7); f4(1); f5(1, 2); f6(3); f7(g, 3); f8(); for (;;) {} }";

/// A function of a signal frame whose CFA is an expression, so that no row can have it, and its caller.
const RESTORED: [(Abi, &str); 3] = [
    (
        Abi::Amd64,
        ".globl _start; _start: call f; 0: jmp 0b; f: .cfi_startproc; .cfi_signal_frame; \
               .cfi_escape 0x0f, 3, 0x77, 8, 0x96; nop; ret; .cfi_endproc\n",
    ),
    (
        Abi::Aarch64,
        ".globl _start; _start: bl f; 0: b 0b; f: .cfi_startproc; .cfi_signal_frame; \
                 .cfi_escape 0x0f, 3, 0x8f, 0, 0x96; nop; ret; .cfi_endproc\n",
    ),
    (
        Abi::S390x,
        ".globl _start; _start: brasl %r14, f; 0: j 0b; f: .cfi_startproc; .cfi_signal_frame; \
               .cfi_escape 0x0f, 4, 0x7f, 0xa0, 1, 0x96; nopr; br %r14; .cfi_endproc\n",
    ),
];

/// Other bugs that compile from the same sources.
const BESIDE: [(&str, &str); 5] = [
    ("gcc-longjmp", "gcc-noreturn-frame-pointer"),
    ("gcc-longjmp", "gcc-popped-frame-pointer"),
    ("gcc-longjmp", "gcc-inline-thunk"),
    ("gcc-inline-thunk", "gcc-popped-frame-pointer"),
    ("gcc-inline-thunk", "gcc-inline-thunk-popped-fp"),
];

/// A function with Clang's hoisted epilogue.
const HOISTED: &str = "f: .cfi_startproc; sub $24, %rsp; .cfi_adjust_cfa_offset 24; nop; add $24, %rsp; test $4, %edi; \
                       jne 1f; .cfi_def_cfa_offset 8; nop; ret; 1: .cfi_def_cfa_offset 8; ret; .cfi_endproc; ";

/// A fault is named in programs that its page has not seen, whatever compiles to it, and so is nothing else.
#[rstest]
#[case("gcc-pushed-constant", "check", "amd64",
    &["-Oz", "-Oz -fPIE -static-pie", "-Oz -fno-omit-frame-pointer", "-Oz -mcmodel=large -s", "-Oz -fcf-protection"],
    CONSTANTS)]
#[case("gcc-popped-frame-pointer", "check", "amd64",
    &["-O0", "-O1", "-O2 -s", "-Os", "-O3 -mtune=znver3", "-O2 -fPIE -static-pie"], ALIGNED)]
#[case("clang-ms-abi-saves", "check", "amd64", &["-O1", "-O2", "-Os", "-O2 -fcf-protection", "-Oz -s"], SAVES)]
// The emulator lacks the instructions.
#[case("clang-ms-abi-saves", "explore", "amd64", &["-O2 -mavx", "-Os -mavx512vl"], SAVES)]
#[case("clang-hoisted-epilogue", "check", "amd64",
    &["-O1", "-O2", "-O3 -s", "-O2 -march=x86-64-v2", "-Os", "-O2 -mtune=atom"], BRANCHES)]
#[case("clang-hoisted-epilogue", "explore", "amd64", &["-O1", "-O2 -s"], BRANCHES)]
#[case("clang-systemz-epilogue", "check", "s390x",
    &["-O0", "-O1", "-O2 -fno-omit-frame-pointer", "-Os -mbackchain", "-O3 -march=z14 -s"], FRAMES)]
#[case("clang-minsize-prologue", "check", "aarch64",
    &["-Oz", "-Oz -mbranch-protection=standard", "-Oz -fomit-frame-pointer", "-Oz -fstack-clash-protection",
      "-Oz -fPIE -static-pie -s"],
    FRAMES)]
#[case("clang-lvi-return", "check", "amd64",
    &["-O1 -mlvi-cfi", "-O2 -mlvi-cfi", "-Os -mlvi-cfi -s", "-O2 -mlvi-cfi -fno-omit-frame-pointer", "-O3 -mlvi-cfi -fPIE"],
    FRAMES)]
#[case("gcc-inline-thunk", "check", "amd64",
    &["-O1 -mfunction-return=thunk-inline", "-O2 -mfunction-return=thunk-inline", "-Os -mfunction-return=thunk-inline -s",
      "-O2 -mfunction-return=thunk-inline -fno-omit-frame-pointer", "-O3 -mfunction-return=thunk-inline -mtune=znver3"],
    ALIGNED)]
#[case("clang-longjmp", "check", "amd64",
    &["-O1", "-O2 -mspeculative-load-hardening", "-Os -s", "-O3 -mspeculative-load-hardening -fno-omit-frame-pointer", "-O0"],
    ONE_JUMP)]
#[case("gcc-longjmp", "check", "amd64",
    &["-O2 -mindirect-branch=thunk-inline", "-O1 -mindirect-branch=thunk-inline",
      "-O2 -mindirect-branch=thunk-inline -mfunction-return=thunk-inline -s"],
    ONE_JUMP)]
#[case("gcc-longjmp", "check", "amd64", &["-O0", "-O1", "-O2 -fcf-protection", "-Os -s", "-O3"], JUMPS)]
#[case("gcc-longjmp", "check", "aarch64",
    &["-O0", "-O2 -mbranch-protection=pac-ret", "-O2 -mbranch-protection=standard", "-O0 -mtrack-speculation",
      "-O2 -mtrack-speculation", "-Os -mbranch-protection=standard -mtrack-speculation"],
    JUMPS)]
#[case("gcc-longjmp", "check", "s390x", &["-O0", "-O1", "-O2", "-Os -s", "-O2 -march=z14"], JUMPS)]
#[case("gas-signal-frame-without-rows", "check", RESTORED[0].0, &["", "-s"], RESTORED[0].1)]
#[case("gas-signal-frame-without-rows", "check", RESTORED[1].0, &["", "-s"], RESTORED[1].1)]
#[case("gas-signal-frame-without-rows", "check", RESTORED[2].0, &["", "-s"], RESTORED[2].1)]
fn a_fault_is_named_in_programs_that_its_page_has_not_seen(
    #[case] name: &str,
    #[case] command: &str,
    #[case] abi: Abi,
    #[case] all_flags: &[&str],
    #[case] source: &str,
) {
    let page = page(name);
    for flags in all_flags {
        let Some(made) = program(&page, &page.example.toolchain, abi, flags, source) else { return };
        let (status, mut names, report) = named(&page, command, &made);
        names.retain(|other| !BESIDE.contains(&(name, other)));
        assert_eq!((status == 1, names), (false, [name.to_owned()].into()), "{flags}: {report:#}");
    }
}

/// A program that names Clang in `.comment`, and has what its page describes in code of another maker, as debug
/// information says: that is no bug of Clang.
#[rstest]
#[case("gnu-2.47", "", &["clang-hoisted-epilogue"])]
#[case("gnu-2.47", "-g", &[])]
// Clang's assembler is no compiler.
#[case("llvm-22", "-g", &[])]
fn a_bug_is_that_of_the_compiler_which_debug_information_names(
    #[case] toolchain: &str,
    #[case] flags: &str,
    #[case] names: &[&str],
) {
    let page = page("clang-hoisted-epilogue");
    let source = HOISTED.to_owned()
        + ".globl _start; _start: call f; 0: jmp 0b; .section .comment, \"MS\", @progbits, 1; .asciz \"clang version 22.1.0\"\n";
    let Some(made) = program(&page, toolchain, Abi::Amd64, flags, &source) else { return };
    let (_, named, report) = named(&page, "check", &made);
    assert_eq!(named, names.iter().map(|name| (*name).to_owned()).collect(), "{report:#}");
    let list = if names.is_empty() { "findings" } else { "known" };
    assert_eq!(report[list].as_array().map(Vec::len), Some(1), "{report:#}");
}

/// A CFA in a register that calls need not preserve, from a lost directive. A callee of the same file may be known to keep
/// it: then it is right, and beyond the format. One that does not keep it shows the row to be wrong.
#[rstest]
#[case("nop", 0)]
#[case("mov $1, %r10d", 1)]
fn a_register_that_is_lost_in_a_call_is_not_beyond_the_format(#[case] callee: &str, #[case] expected: i32) {
    let page = page("gcc-popped-frame-pointer");
    let source = format!(
        ".globl _start; _start: .cfi_startproc; .cfi_undefined %rip; call f; 0: jmp 0b; .cfi_endproc; \
         g: .cfi_startproc; {callee}; ret; .cfi_endproc; f: .cfi_startproc; lea 8(%rsp), %r10; .cfi_def_cfa %r10, 0; \
         sub $64, %rsp; call g; nop; add $64, %rsp; .cfi_def_cfa %rsp, 8; ret; .cfi_endproc\n"
    );
    let Some(made) = program(&page, "gnu-2.47", Abi::Amd64, "", &source) else { return };
    let (status, _, report) = named(&page, "check", &made);
    assert_eq!(status, expected, "{report:#}");
    assert_eq!(report["known"][0]["blame"], "format", "{report:#}");
}

/// Code that has a fault, and the same with a change after which something is wrong for another reason: what is called, by
/// how much, in which register or from where on.
#[rstest]
#[case("gcc-pushed-constant", "amd64",
    "push $7; pop %rax; ret",
    &[
        ("push $7", "push %rcx"),
        ("push $7;", "push $7; .cfi_adjust_cfa_offset 16;"),
        ("pop %rax;", "call g; pop %rax;"),
        ("pop %rax", "jmp 1f; 1: pop %rax"),
        ("push $7; pop %rax", "push $7; nop; nop; add $8, %rsp"),
    ])]
#[case("gcc-popped-frame-pointer", "amd64",
    "lea 8(%rsp), %r10; .cfi_def_cfa %r10, 0; and $-64, %rsp; push -8(%r10); push %rbp; mov %rsp, %rbp; \
     .cfi_escape 0x10,6,2,0x76,0; nop; pop %rbp; lea -8(%r10), %rsp; .cfi_def_cfa %rsp, 8; .cfi_restore \
     %rbp; ret",
    &[
        ("pop %rbp", "xor %ebp, %ebp"),
        ("and $-64, %rsp; ", ""),
        ("push -8(%r10)", "push %rax"),
        ("pop %rbp; ", "pop %rbp; call g; "),
        ("pop %rbp; ", "mov %r10, %rbp; pop %r11; "),
    ])]
#[case("clang-ms-abi-saves", "amd64",
    "sub $40, %rsp; movaps %xmm8, 16(%rsp); movaps %xmm6, (%rsp); .cfi_adjust_cfa_offset 40; add $40, \
     %rsp; .cfi_adjust_cfa_offset -40; ret",
    &[
        ("movaps %xmm8, ", "mov %rbx, "),
        ("sub $40, %rsp;", "sub $40, %rsp; .cfi_adjust_cfa_offset 72;"),
        ("sub $40, %rsp;", "sub $40, %rsp; call g;"),
        ("sub $40, %rsp;", "lea -40(%rsp), %rsp; jmp 1f; sub $8, %rsp; 1:"),
        ("sub $40, %rsp; movaps %xmm8, 16(%rsp); movaps %xmm6, (%rsp)", "sub $8, %rsp; sub $32, %rsp; movaps %xmm8, 16(%rsp); movaps %xmm6, (%rsp)"),
    ])]
#[case("clang-systemz-epilogue", "s390x",
    "stmg %r14, %r15, 112(%r15); .cfi_offset %r14, -48; aghi %r15, -160; .cfi_def_cfa_offset 320; brasl \
     %r14, g; lmg %r14, %r15, 272(%r15); br %r14",
    &[
        ("lmg %r14, %r15, 272(%r15)", "lg %r14, 272(%r15); aghi %r15, 160"),
        ("cfa_offset 320", "cfa_offset 328"),
        ("br %r14", "nopr; br %r14"),
        ("272(%r15); br", "272(%r15); .cfi_def_cfa_offset 480; br"),
        ("272(%r15); br", "272(%r15); .cfi_def_cfa_offset 80; br"),
    ])]
#[case("gcc-longjmp", "amd64",
    "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; mov %rsp, %rbp; .cfi_def_cfa_register \
     %rbp; lea b(%rip), %rdi; lea 16(%rbp), %rcx; mov %rcx, 16(%rdi); mov 8(%rbp), %rax; mov (%rbp), \
     %rdx; mov 16(%rdi), %rsp; mov %rdx, %rbp; jmp *%rax",
    &[
        ("mov 16(%rdi), %rsp", "lea 16(%rbp), %rsp"),
        ("cfa_register %rbp", "cfa %rbp, 32"),
        ("jmp *%rax", "push %rax; ret"),
        ("mov 16(%rdi), %rsp; mov %rdx, %rbp", "mov %rdx, %rbp; mov 16(%rdi), %rsp"),
        ("mov %rdx, %rbp;", "xor %ebp, %ebp;"),
    ])]
#[case("clang-hoisted-epilogue", "amd64",
    "sub $24, %rsp; .cfi_adjust_cfa_offset 24; nop; add $24, %rsp; test $4, %edi; jne 1f; \
     .cfi_def_cfa_offset 8; nop; ret; 1: .cfi_def_cfa_offset 8; ret",
    &[
        ("test", "call g; test"),
        ("cfa_offset 24", "cfa_offset 32"),
        ("add $24, %rsp", "pop %rax; pop %rcx; pop %rdx"),
        ("add $24, %rsp;", "add $24, %rsp; .cfi_adjust_cfa_offset 8;"),
        ("jne 1f; .cfi_def_cfa_offset 8; nop; ret; 1:", "nop;"),
        ("nop; ret; 1:", "call g; ret; 1:"),
        ("nop; ret; 1:", "lea g(%rip), %rax; call *%rax; ret; 1:"),
        // What goes is a call's arguments, and not the frame.
        ("sub $24, %rsp; .cfi_adjust_cfa_offset 24; nop; add $24, %rsp; test $4, %edi; jne 1f; \
          .cfi_def_cfa_offset 8; nop; ret; 1:",
         "sub $8, %rsp; .cfi_adjust_cfa_offset 8; sub $16, %rsp; .cfi_adjust_cfa_offset 16; call g; \
          add $16, %rsp; test $4, %edi; jne 1f; nop; 1: .cfi_adjust_cfa_offset -16; add $8, %rsp;"),
    ])]
#[case("gas-signal-frame-without-rows", "amd64",
    ".cfi_signal_frame; .cfi_escape 0x0f, 3, 0x77, 8, 0x96; nop; ret",
    &[
        (".cfi_escape 0x0f, 3, 0x77, 8, 0x96", ".cfi_undefined %rip"),
        (".cfi_escape 0x0f, 3, 0x77, 8, 0x96", ".cfi_def_cfa_offset 16"),
        (".cfi_signal_frame; .cfi_escape 0x0f, 3, 0x77, 8, 0x96", ".cfi_undefined %rip"),
        (".cfi_escape 0x0f, 3, 0x77, 8, 0x96", ".cfi_offset %rip, -16"),
        (".cfi_escape 0x0f, 3, 0x77, 8, 0x96; nop", "push %rcx; nop; pop %rcx"),
    ])]
#[case("clang-minsize-prologue", "aarch64",
    "stp x29, x30, [sp, #-32]!; stp x20, x19, [sp, #16]; mov x29, sp; .cfi_def_cfa x29, 32; .cfi_offset \
     x30, -24; .cfi_offset x29, -32; bl g; 1: b 1b",
    &[
        // Functions of this page have no epilogue that is described.
        ("1: b 1b", "ldp x29, x30, [sp], #32; .cfi_def_cfa sp, 0; .cfi_restore x29; .cfi_restore x30; ret"),
        ("stp x29, x30, [sp, #-32]!;", ".cfi_def_cfa_offset 16; stp x29, x30, [sp, #-32]!; .cfi_def_cfa_offset 0;"),
        ("stp x29, x30, [sp, #-32]!;", "stp x29, x30, [sp, #-32]!; .cfi_def_cfa_offset 16;"),
        ("stp x29, x30, [sp, #-32]!;", "stp x29, x30, [sp, #-32]!; mov w9, #1;"),
        ("stp x29, x30, [sp, #-32]!;", "mov x9, #32; sub sp, sp, x9; stp x29, x30, [sp];"),
        ("stp x29, x30, [sp, #-32]!;", "sub x9, sp, #32; stp x29, x30, [x9]; mov sp, x9;"),
    ])]
#[case("clang-minsize-prologue", "aarch64",
    "stp x29, x30, [sp, #-32]!; .cfi_def_cfa_offset 32; .cfi_offset x30, -24; .cfi_offset x29, -32; mov \
     x29, sp; .cfi_def_cfa_register x29; bl g; ldp x29, x30, [sp], #32; ret",
    &[
        ("cfa_register x29", "cfa x29, 48"),
        ("[sp], #32; ret", "[sp], #32; .cfi_def_cfa sp, 64; ret"),
        ("ldp x29, x30, [sp], #32", "ldr x30, [sp, #8]; ldr x29, [sp], #32"),
        ("ldp x29, x30, [sp], #32", "ldp x29, x30, [sp], #32; .cfi_adjust_cfa_offset 16"),
        ("ldp x29, x30, [sp], #32", "mov x9, #32; ldp x29, x30, [sp]; add sp, sp, x9"),
    ])]
fn what_looks_like_a_fault_is_not_named(
    #[case] name: &str,
    #[case] abi: Abi,
    #[case] code: &str,
    #[case] changes: &[(&str, &str)],
    #[values("check", "explore")] command: &str,
) {
    let page = page(name);
    let who = if name.starts_with("clang") { "clang version 22.1.0" } else { "GCC: (GNU) 16.2.0" };
    let (start, returns) = match abi {
        Abi::Amd64 => ("call f; 0: jmp 0b", "ret"),
        Abi::S390x => ("brasl %r14, f; 0: j 0b", "br %r14"),
        _ => ("bl f; 0: b 0b", "ret"),
    };
    let judged = |code: &str| {
        let source = format!(
            ".globl _start; _start: {start}; g: {returns}; f: .cfi_startproc; {code}; .cfi_endproc; .lcomm b, 64; \
             .section .comment, \"MS\", @progbits, 1; .asciz \"{who}\"\n"
        );
        Some(named(&page, command, &program(&page, "gnu-2.47", abi, "", &source)?))
    };
    // Exploring starts no walk in a signal frame.
    if command == "explore" && name == "gas-signal-frame-without-rows" {
        return;
    }
    let Some((status, names, report)) = judged(code) else { return };
    assert_eq!((status == 1, names), (false, [name.to_owned()].into()), "{report:#}");
    for (from, to) in changes {
        assert!(code.contains(from), "{from}");
        let (status, names, report) = judged(&code.replacen(from, to, 1)).expect("a program");
        assert_eq!((status, names), (1, [].into()), "{to}: {report:#}");
    }
}

/// An FDE without rows that is no signal frame's, one that call frame information says to be outermost, and a row that
/// says it, are other faults.
#[rstest]
#[case::of_no_signal(".cfi_undefined %rip; nop; ret")]
#[case::by_cfi(".cfi_signal_frame; .cfi_undefined %rip; nop; ret")]
#[case::by_a_row(".cfi_signal_frame; nop; .cfi_undefined %rip; ret")]
fn other_ends_are_not_those_of_a_signal_frame(#[case] body: &str) {
    let page = page("gas-signal-frame-without-rows");
    let source =
        format!(".globl _start; _start: call f; 0: jmp 0b; f: .cfi_startproc; {body}; .cfi_endproc\n");
    let Some(made) = program(&page, "gnu-2.47", Abi::Amd64, "", &source) else { return };
    let (status, names, report) = named(&page, "check", &made);
    assert_eq!((status, names), (1, [].into()), "{report:#}");
}
