/* Functions whose FDE does not cover them, in a file whose only unwind information is .sframe: one ends before the last
   instruction, one begins behind the first. In a third, only padding has none.  */

#include "runtime/assembly.h"

        .cfi_sections .sframe
        .text

        .macro  begin name
        .globl  \name
        .hidden \name
        .type   \name, %function
\name:
        .endm

        .macro  finish name
        .size   \name, . - \name
        .endm

#if defined(__x86_64__)
        .macro  return
        ret
        .endm
        .macro  filler
        nop
        .endm
        .macro  work
        xorl    %eax, %eax
        .endm
#elif defined(__aarch64__)
        .macro  return
        ret
        .endm
        .macro  filler
        nop
        .endm
        .macro  work
        mov     w0, #0
        .endm
#elif defined(__s390x__)
        .macro  return
        br      %r14
        .endm
        .macro  filler
        nopr
        .endm
        .macro  work
        lghi    %r2, 0
        .endm
#endif

        begin   ends_early
        .cfi_startproc
        work
        filler
        .cfi_endproc
        return
        finish  ends_early

        begin   starts_late
        work
        .cfi_startproc
        filler
        return
        .cfi_endproc
        finish  starts_late

        begin   padded
        .cfi_startproc
        work
        return
        .cfi_endproc
        filler
        filler
        finish  padded

        begin   main
        .cfi_startproc
#if defined(__x86_64__)
        call    ends_early
        call    starts_late
        call    padded
        xorl    %eax, %eax
#elif defined(__aarch64__)
        stp     x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        bl      ends_early
        bl      starts_late
        bl      padded
        ldp     x29, x30, [sp], #16
        .cfi_adjust_cfa_offset -16
        .cfi_restore x29
        .cfi_restore x30
#elif defined(__s390x__)
        stmg    %r14, %r15, 112(%r15)
        .cfi_rel_offset %r14, 112
        .cfi_rel_offset %r15, 120
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        brasl   %r14, ends_early
        brasl   %r14, starts_late
        brasl   %r14, padded
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_adjust_cfa_offset -160
#endif
        return
        .cfi_endproc
        finish  main

        .section .note.GNU-stack, "", %progbits
