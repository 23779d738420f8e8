// Rows that compilers seldom or never ask for.
    .text
    .globl _start
_start:
    .cfi_startproc
    nop
    .cfi_def_cfa_offset 32
    .cfi_offset 29, -32
    .cfi_offset 30, -24
    nop
    .cfi_negate_ra_state                // mangled, with both saved
    nop
    .cfi_def_cfa 29, 32
    nop
    .cfi_endproc

    .cfi_startproc                      // key B; RA saved at the CFA itself
    .cfi_b_key_frame
    .cfi_negate_ra_state
    nop
    .cfi_def_cfa_offset 40000
    .cfi_offset 30, 0
    nop
    .cfi_endproc

    .cfi_startproc                      // RA undefined
    .cfi_undefined 30
    nop
    .cfi_endproc

    .cfi_startproc simple               // no rows
    nop
    .cfi_endproc

    .cfi_startproc                      // a signal frame
    .cfi_signal_frame
    nop
    .cfi_offset 30, -8
    nop
    .cfi_endproc

    .section .text.other, "ax"
    .cfi_startproc
    nop
    .cfi_endproc
    .cfi_startproc
    nop
    .cfi_endproc
