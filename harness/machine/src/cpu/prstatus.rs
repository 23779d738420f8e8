//! Where Linux puts the registers of a thread that is stopped.

use sframe_engine::Abi;

/// Where `NT_PRSTATUS` has registers (`elf_gregset_t` of Linux): pairs of a position in words and a DWARF number, and the
/// position of the program counter.
#[must_use]
pub fn of_prstatus(abi: Abi) -> (Vec<(usize, u32)>, usize) {
    match abi {
        Abi::Amd64 => {
            // r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp
            let order = [15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5];
            (order.into_iter().enumerate().chain([(19, 7), (16, 16)]).collect(), 16)
        }
        Abi::Aarch64 | Abi::Aarch64Be => ((0..32_u32).map(|it| (it as usize, it)).collect(), 32),
        // The mask and the address of the PSW come first.
        Abi::S390x => ((0..16_u32).map(|it| (2 + it as usize, it)).collect(), 1),
    }
}
