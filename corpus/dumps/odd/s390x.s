# Rows that compilers seldom or never ask for.
    .text
    .globl _start
_start:
    .cfi_startproc
    nop
    .cfi_def_cfa_offset 320
    .cfi_offset 11, -72                 # FP saved, RA not
    nop
    .cfi_offset 14, -48
    nop
    .cfi_def_cfa 11, 320
    nop
    .cfi_endproc

    .cfi_startproc                      # both in floating-point registers
    .cfi_register 14, 16
    nop
    .cfi_register 11, 17
    nop
    .cfi_endproc

    .cfi_startproc                      # FP only, then a CFA on another register
    .cfi_register 11, 17
    nop
    .cfi_def_cfa 10, 480
    nop
    .cfi_endproc

    .cfi_startproc                      # RA undefined
    .cfi_undefined 14
    nop
    .cfi_endproc

    .cfi_startproc                      # offsets that need more than 32 bits
    .cfi_def_cfa_offset 0x200000000
    nop
    .cfi_def_cfa_offset 0x3fffffff8
    nop
    .cfi_endproc

    .cfi_startproc                      # a signal frame with flex rows
    .cfi_signal_frame
    nop
    .cfi_register 14, 3
    nop
    .cfi_endproc

    .section .text.other, "ax"
    .cfi_startproc
    nop
    .cfi_endproc
    .cfi_startproc
    nop
    .cfi_endproc
