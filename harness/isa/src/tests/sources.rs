//! What follows from registers and constants alone, for each architecture.

use super::*;

/// Asserts from which registers each instruction makes what it writes, and that FP or its pair is among
/// that.
fn assert_sources<const N: usize>(abi: Abi, writes: bool, cases: [(&[u8], Option<&[u32]>); N]) {
    for (code, sources) in cases {
        let read = one(abi, code);
        let sources = sources.map(|numbers| numbers.iter().copied().map(r).collect());
        assert_eq!(read.sources, sources, "{}", read.text);
        assert_eq!(read.defs.contains(abi.fp()), writes, "{}", read.text);
    }
}

#[test]
fn sources_of_amd64() {
    assert_sources(
        Abi::Amd64,
        true,
        [
            (&[0xbd, 5, 0, 0, 0], Some(&[])),              // mov ebp, 5
            (&[0x66, 0xbd, 5, 0], Some(&[6])),             // mov bp, 5
            (&[0x31, 0xed], Some(&[])),                    // xor ebp, ebp
            (&[0x31, 0xc5], Some(&[0, 6])),                // xor ebp, eax
            (&[0x48, 0x09, 0xc5], Some(&[0, 6])),          // or rbp, rax
            (&[0x48, 0x95], Some(&[0, 6])),                // xchg rbp, rax
            (&[0x48, 0x8d, 0x6c, 0x0b, 8], Some(&[2, 3])), // lea rbp, [rbx + rcx + 8]
            (&[0x48, 0x8d, 0x2d, 1, 0, 0, 0], Some(&[])),  // lea rbp, [rip + 1]
            (&[0x48, 0x87, 0x2c, 0x24], None),             // xchg [rsp], rbp
            (&[0x66, 0x48, 0x0f, 0x7e, 0xc5], None),       // movq rbp, xmm0
            (&[0xc8, 0x10, 0, 0], None),                   // enter 0x10, 0
            (&[0xc9], None),                               // leave
            (&[0x48, 0x0f, 0x44, 0xeb], None),             // cmove rbp, rbx
        ],
    );
    assert_sources(
        Abi::Amd64,
        false,
        [
            (&[0x53], Some(&[3])),                      // push rbx
            (&[0x48, 0x0f, 0xaf, 0xc3], Some(&[0, 3])), // imul rax, rbx
            (&[0x88, 0xe3], Some(&[0, 3])),             // mov bl, ah
            (&[0x48, 0xf7, 0xeb], None),                // imul rbx
            (&[0xff, 0x33], None),                      // push [rbx]
            (&[0x48, 0x01, 0x2c, 0x24], None),          // add [rsp], rbp
            (&[0x48, 0x0f, 0xc3, 0x2c, 0x24], None),    // movnti [rsp], rbp
            (&[0x48, 0xad], None),                      // lodsq
            (&[0x48, 0xab], None),                      // stosq
        ],
    );
}

#[test]
fn sources_of_aarch64() {
    let sources = |word: u32, writes: bool, sources: Option<&[u32]>| {
        assert_sources(Abi::Aarch64, writes, [(&word.to_le_bytes(), sources)]);
    };
    sources(0xd280_00bd, true, Some(&[])); // mov x29, #5
    sources(0xf280_00bd, true, Some(&[29])); // movk x29, #5
    sources(0x9000_001d, true, Some(&[])); // adrp x29, .
    sources(0xaa02_003d, true, Some(&[1, 2])); // orr x29, x1, x2
    sources(0xaa01_03fd, true, Some(&[1])); // mov x29, x1
    sources(0xca01_0fbd, true, Some(&[1, 29])); // eor x29, x29, x1, lsl #3
    sources(0xcb02_003d, true, Some(&[1, 2])); // sub x29, x1, x2
    sources(0x9240_1c3d, true, Some(&[1])); // and x29, x1, #0xff
    sources(0x9a82_003d, true, Some(&[1, 2])); // csel x29, x1, x2, eq
    sources(0x9b02_0c3d, true, Some(&[1, 2, 3])); // madd x29, x1, x2, x3
    sources(0xf940_003d, true, None); // ldr x29, [x1]
    sources(0x9e66_001d, true, None); // fmov x29, d0
    sources(0xc8df_fc3d, true, None); // ldar x29, [x1]
    sources(0xa940_0be1, false, None); // ldp x1, x2, [sp]
    sources(0xf821_805d, true, None); // swp x1, x29, [x2]
    sources(0x3d80_03e0, false, None); // str q0, [sp]
    sources(0xa900_07fd, false, Some(&[1, 29])); // stp x29, x1, [sp]
}

#[test]
fn sources_of_s390x() {
    assert_sources(
        Abi::S390x,
        true,
        [
            (&[0xa7, 0xb9, 0, 5], Some(&[])),               // lghi %r11, 5
            (&[0xa7, 0xb8, 0, 5], Some(&[11])),             // lhi %r11, 5
            (&[0xc0, 0xb0, 0, 0, 0, 0], Some(&[])),         // larl %r11, .
            (&[0xb9, 0x04, 0, 0xb1], Some(&[1])),           // lgr %r11, %r1
            (&[0xb9, 0x82, 0, 0xbb], Some(&[])),            // xgr %r11, %r11
            (&[0xb9, 0x82, 0, 0xb1], Some(&[1, 11])),       // xgr %r11, %r1
            (&[0xb9, 0xe6, 0x20, 0xb1], Some(&[1, 2, 11])), // ogrk %r11, %r1, %r2
            (&[0xc0, 0xb9, 0, 0, 0, 5], Some(&[11])),       // iilf %r11, 5
            (&[0xa5, 0xbf, 0, 5], Some(&[])),               // llill %r11, 5
            (&[0xb3, 0xcd, 0, 0xb0], Some(&[16])),          // lgdr %r11, %f0
            (&[0xe3, 0xb0, 0xf0, 0xa0, 0, 0x82], None),     // xg %r11, 160(%r15)
            (&[0xe3, 0xb0, 0xf0, 0xa0, 0, 0x04], None),     // lg %r11, 160(%r15)
            (&[0xe3, 0xa0, 0xf0, 0xa0, 0, 0x8f], None),     // lpq %r10, 160(%r15)
            (&[0xb9, 0x86, 0, 0xa1], None),                 // mlgr %r10, %r1
        ],
    );
    assert_sources(
        Abi::S390x,
        false,
        [
            (&[0xe5, 0x48, 0xf0, 0xa0, 0, 5], Some(&[])), // mvghi 160(%r15), 5
            (&[0x92, 5, 0xf0, 0xa0], Some(&[])),          // mvi 160(%r15), 5
            (&[0xe3, 0xa0, 0xf0, 0xa0, 0, 0x8e], None),   // stpq %r10, 160(%r15)
            (&[0xe7, 0x0b, 0xc0, 0, 0, 0x62], None),      // vlvgp %v0, %r11, %r12
            (&[0xc0, 0xe5, 0, 0, 0, 0], None),            // brasl %r14, .
        ],
    );
}
