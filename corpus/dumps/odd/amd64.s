# Rows that compilers seldom or never ask for.
    .text
    .globl _start
_start:
    .cfi_startproc
    nop
    .cfi_def_cfa_offset 16
    nop
    .cfi_def_cfa_offset 0x7fffff0       # 4-byte words, and more than a column
    nop
    .cfi_offset 6, -16
    nop
    .cfi_def_cfa 6, 16
    nop
    .cfi_restore 6
    .cfi_def_cfa 7, -8                  # a negative CFA offset
    nop
    .cfi_endproc

    .cfi_startproc                      # RA undefined from the middle on
    nop
    .cfi_undefined 16
    nop
    .cfi_endproc

    .cfi_startproc simple               # no rows
    nop
    .cfi_endproc

    .cfi_startproc                      # a signal frame
    .cfi_signal_frame
    nop
    .cfi_endproc

    .cfi_startproc                      # a signal frame with flex rows
    .cfi_signal_frame
    .cfi_def_cfa 6, 0
    nop
    .cfi_def_cfa 10, 0
    nop
    .cfi_endproc

    .cfi_startproc                      # 2-byte row starts
    .skip 300
    .cfi_def_cfa_offset 400
    nop
    .cfi_endproc

    .cfi_startproc                      # size 0
    .cfi_endproc

    .cfi_startproc                      # FP in a register, RA padded
    .cfi_register 6, 3
    nop
    .cfi_endproc

    .cfi_startproc                      # RA on the stack elsewhere
    .cfi_offset 16, -24
    nop
    .cfi_endproc

    .section .text.other, "ax"
    .cfi_startproc
    nop
    .cfi_endproc
    .cfi_startproc
    nop
    .cfi_endproc
