//! amd64.

use goblin::elf::header::EM_X86_64;
use unicorn_engine::{Arch, Mode, RegisterX86 as R, Unicorn, uc_error};

use super::{Control, Cpu, Link, SystemCalls};

/// amd64, as the System V psABI uses it.
pub static AMD64: Cpu = Cpu {
    name: "amd64",
    big_endian: false,
    address_bits: 64,
    elf_machine: EM_X86_64,
    arch: Arch::X86,
    mode: Mode::MODE_64,
    model: None,
    pc: R::RIP as i32,
    sp: R::RSP as i32,
    fp: R::RBP as i32,
    link: Link::Stack,
    registers: &[
        R::RAX as i32,
        R::RDX as i32,
        R::RCX as i32,
        R::RBX as i32,
        R::RSI as i32,
        R::RDI as i32,
        R::RBP as i32,
        R::RSP as i32,
        R::R8 as i32,
        R::R9 as i32,
        R::R10 as i32,
        R::R11 as i32,
        R::R12 as i32,
        R::R13 as i32,
        R::R14 as i32,
        R::R15 as i32,
        R::RIP as i32,
    ],
    // Not rdx: start-up code registers it with atexit where it is not 0.
    poisoned: &[
        R::RBP as i32,
        R::RAX as i32,
        R::RBX as i32,
        R::RCX as i32,
        R::RSI as i32,
        R::RDI as i32,
        R::R8 as i32,
        R::R9 as i32,
        R::R10 as i32,
        R::R11 as i32,
        R::R12 as i32,
        R::R13 as i32,
        R::R14 as i32,
        R::R15 as i32,
    ],
    cfa_above_sp: 0,
    alignment: 1,
    longest: 15,
    system_calls: SystemCalls {
        number: R::RAX as i32,
        arguments: [R::RDI as i32, R::RSI as i32, R::RDX as i32],
        result: R::RAX as i32,
        write: 1,
        exit: 60,
        exit_group: 231,
        pc_behind: 0,
    },
    control,
    prepare,
    set_thread_pointer,
};

/// Intel SDM volume 2: calls, returns and jumps behind any prefixes.
fn control(code: &[u8]) -> Control {
    let is_prefix = |byte: &u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
    let prefixes = code.iter().take_while(|byte| is_prefix(byte)).count();
    match code.get(prefixes..).unwrap_or_default() {
        [0xe8, ..] => Control::Call,
        // ret, ret imm16, and the far forms.
        [0xc2 | 0xc3 | 0xca | 0xcb, ..] => Control::Indirect,
        [0xff, modrm, ..] => match (modrm >> 3) & 7 {
            2 | 3 => Control::Call,
            4 | 5 => Control::Indirect,
            _ => Control::Other,
        },
        [0xeb, 0xfe, ..] if prefixes == 0 => Control::SelfJump,
        [0xe9, 0xfb, 0xff, 0xff, 0xff, ..] if prefixes == 0 => Control::SelfJump,
        _ => Control::Other,
    }
}

/// Unicorn starts in long mode with SSE. It has no 256-bit AVX to be enabled.
fn prepare(_: &mut Unicorn<'_, ()>) -> Result<(), uc_error> {
    Ok(())
}

fn set_thread_pointer(unicorn: &mut Unicorn<'_, ()>, address: u64) -> Result<(), uc_error> {
    unicorn.reg_write(R::FS_BASE, address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_returns_are_told_from_other_instructions() {
        for (code, expected) in [
            (&[0xe8, 0, 0, 0, 0][..], Control::Call),             // call rel32
            (&[0xff, 0xd0], Control::Call),                       // call *%rax
            (&[0x41, 0xff, 0xd3], Control::Call),                 // call *%r11
            (&[0xff, 0x15, 0, 0, 0, 0], Control::Call),           // call *GOT(%rip)
            (&[0x3e, 0xff, 0xd0], Control::Call),                 // notrack call *%rax
            (&[0x67, 0xe8, 0, 0, 0, 0], Control::Call),           // addr32 call, a relaxed GOT call
            (&[0xc3], Control::Indirect),                         // ret
            (&[0xf3, 0xc3], Control::Indirect),                   // rep ret
            (&[0xf2, 0xc3], Control::Indirect),                   // bnd ret
            (&[0xc2, 8, 0], Control::Indirect),                   // ret $8
            (&[0xff, 0xe1], Control::Indirect),                   // jmp *%rcx
            (&[0xf2, 0xff, 0x25, 0, 0, 0, 0], Control::Indirect), // bnd jmp *GOT(%rip)
            (&[0xeb, 0xfe], Control::SelfJump),                   // jmp .
            (&[0xe9, 0xfb, 0xff, 0xff, 0xff], Control::SelfJump),
            (&[0xeb, 0x05], Control::Other), // jmp .+7
            (&[0x0f, 0x05], Control::Other), // syscall
            (&[0xff, 0xf0], Control::Other), // push %rax
            (&[0xff, 0xc0], Control::Other), // inc %eax
            (&[0x75, 0xfe], Control::Other), // jne .
            (&[], Control::Other),
        ] {
            assert_eq!(control(code), expected, "{code:02x?}");
        }
    }
}
