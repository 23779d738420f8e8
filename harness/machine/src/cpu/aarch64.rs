//! aarch64 of either byte order.

use goblin::elf::header::EM_AARCH64;
use unicorn_engine::{Arch, Arm64CpuModel, Mode, RegisterARM64 as R, RegisterARM64CP, Unicorn, uc_error};

use super::{Control, Cpu, Link, SystemCalls};

/// aarch64, little endian.
pub static AARCH64: Cpu = cpu("aarch64", false, Mode::LITTLE_ENDIAN);

/// aarch64, big-endian data.
pub static AARCH64_BE: Cpu = cpu("aarch64_be", true, Mode::BIG_ENDIAN);

/// Bits of a virtual address: `TCR_EL1.T0SZ` and `T1SZ` are 64 less this.
const ADDRESS_BITS: u32 = 39;

const fn cpu(name: &'static str, big_endian: bool, mode: Mode) -> Cpu {
    Cpu {
        name,
        big_endian,
        address_bits: ADDRESS_BITS,
        elf_machine: EM_AARCH64,
        arch: Arch::ARM64,
        mode,
        model: Some(Arm64CpuModel::MAX as i32),
        pc: R::PC as i32,
        sp: R::SP as i32,
        fp: R::X29 as i32,
        link: Link::Register(R::X30 as i32),
        registers: &REGISTERS,
        // Not x0: start-up code registers it with atexit where it is not 0.
        poisoned: REGISTERS.split_at(1).1.split_at(30).0,
        cfa_above_sp: 0,
        alignment: 4,
        longest: 4,
        system_calls: SystemCalls {
            number: R::X8 as i32,
            arguments: [R::X0 as i32, R::X1 as i32, R::X2 as i32],
            result: R::X0 as i32,
            write: 64,
            exit: 93,
            exit_group: 94,
            pc_behind: 0,
        },
        control,
        prepare,
        set_thread_pointer,
    }
}

/// x0 to x30, and sp.
const REGISTERS: [i32; 32] = [
    R::X0 as i32,
    R::X1 as i32,
    R::X2 as i32,
    R::X3 as i32,
    R::X4 as i32,
    R::X5 as i32,
    R::X6 as i32,
    R::X7 as i32,
    R::X8 as i32,
    R::X9 as i32,
    R::X10 as i32,
    R::X11 as i32,
    R::X12 as i32,
    R::X13 as i32,
    R::X14 as i32,
    R::X15 as i32,
    R::X16 as i32,
    R::X17 as i32,
    R::X18 as i32,
    R::X19 as i32,
    R::X20 as i32,
    R::X21 as i32,
    R::X22 as i32,
    R::X23 as i32,
    R::X24 as i32,
    R::X25 as i32,
    R::X26 as i32,
    R::X27 as i32,
    R::X28 as i32,
    R::X29 as i32,
    R::X30 as i32,
    R::SP as i32,
];

/// Arm ARM C4.1.65, branches: `bl`, and the register branches with their
/// authenticated forms. Instructions are little endian in either mode.
fn control(code: &[u8]) -> Control {
    let Some(bytes) = code.first_chunk() else {
        return Control::Other;
    };
    let word = u32::from_le_bytes(*bytes);
    if word >> 26 == 0b10_0101 {
        return Control::Call;
    }
    if word == 0x1400_0000 {
        return Control::SelfJump;
    }
    if word >> 25 != 0b110_1011 {
        return Control::Other;
    }
    match (word >> 21) & 0xf {
        0b0001 | 0b1001 => Control::Call,              // blr, blraa, blrab
        0b0000 | 0b0010 | 0b1000 => Control::Indirect, // br, ret, retaa, braa
        _ => Control::Other,
    }
}

/// Lets user code sign return addresses: keys A and B, with real keys, and
/// authentication codes in the bits above the virtual address.
fn prepare(unicorn: &mut Unicorn<'_, ()>) -> Result<(), uc_error> {
    const HCR_EL2: [u32; 5] = [3, 4, 1, 1, 0];
    const SCR_EL3: [u32; 5] = [3, 6, 1, 1, 0];
    const TCR_EL1: [u32; 5] = [3, 0, 2, 0, 2];
    const SCTLR_EL1: [u32; 5] = [3, 0, 1, 0, 0];
    const KEYS: [([u32; 5], u64); 4] = [
        ([3, 0, 2, 1, 0], 0x8badf00d_5eed1001), // APIAKeyLo_EL1
        ([3, 0, 2, 1, 1], 0x1337c0de_5eed1002), // APIAKeyHi_EL1
        ([3, 0, 2, 1, 2], 0xfeedface_5eed2001), // APIBKeyLo_EL1
        ([3, 0, 2, 1, 3], 0x0ddba11d_5eed2002), // APIBKeyHi_EL1
    ];
    // Op0, Op1, CRn, CRm, Op2.
    let register =
        |[op0, op1, crn, crm, op2]: [u32; 5], val| RegisterARM64CP { crn, crm, op0, op1, op2, val };
    let mut set = |name: [u32; 5], bits: u64| {
        let mut value = register(name, 0);
        unicorn.reg_read_arm64_coproc(&mut value)?;
        value.val |= bits;
        unicorn.reg_write_arm64_coproc(&value)
    };
    set(HCR_EL2, 1 << 41 | 1 << 40 | 1 << 31)?; // API, APK, RW: no traps
    set(SCR_EL3, 1 << 17 | 1 << 16 | 1 << 10 | 1)?; // API, APK, RW, NS: no traps
    let size = u64::from(64 - ADDRESS_BITS);
    set(TCR_EL1, size | size << 16)?;
    set(SCTLR_EL1, 1 << 31 | 1 << 30)?; // EnIA, EnIB
    for (name, key) in KEYS {
        unicorn.reg_write_arm64_coproc(&register(name, key))?;
    }
    Ok(())
}

fn set_thread_pointer(unicorn: &mut Unicorn<'_, ()>, address: u64) -> Result<(), uc_error> {
    unicorn.reg_write(R::TPIDR_EL0, address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_returns_are_told_from_other_instructions() {
        for (word, expected) in [
            (0x9400_0001_u32, Control::Call), // bl .+4
            (0x97ff_ffff, Control::Call),     // bl .-4
            (0xd63f_0060, Control::Call),     // blr x3
            (0xd63f_0860, Control::Call),     // blraaz x3
            (0xd73f_0862, Control::Call),     // blraa x3, x2
            (0xd65f_03c0, Control::Indirect), // ret
            (0xd65f_0120, Control::Indirect), // ret x9
            (0xd65f_0bff, Control::Indirect), // retaa
            (0xd65f_0fff, Control::Indirect), // retab
            (0xd61f_0200, Control::Indirect), // br x16
            (0xd71f_0a11, Control::Indirect), // braa x16, x17
            (0x1400_0000, Control::SelfJump), // b .
            (0x1400_0001, Control::Other),    // b .+4
            (0xd503_233f, Control::Other),    // paciasp
            (0xd400_0001, Control::Other),    // svc #0
        ] {
            assert_eq!(control(&word.to_le_bytes()), expected, "{word:#010x}");
        }
        assert_eq!(control(&[]), Control::Other);
    }
}
