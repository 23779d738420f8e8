/* Functions whose FDE ends before code that only their symbols say is theirs, in a file whose only unwind information is
   .sframe.  */

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
        .macro  work
        xorl    %eax, %eax
        .endm
        .macro  go_if_zero to
        testl   %eax, %eax
        jz      \to
        .endm
        .macro  go to
        jmp     \to
        .endm
        .macro  run function
        call    \function
        .endm
        .macro  enter
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        .endm
        .macro  leave_frame
        addq    $8, %rsp
        .endm
        .macro  has_left_frame
        .cfi_adjust_cfa_offset -8
        .endm
#elif defined(__aarch64__)
        .macro  return
        ret
        .endm
        .macro  work
        mov     w0, #0
        .endm
        .macro  go_if_zero to
        cbz     w0, \to
        .endm
        .macro  go to
        b       \to
        .endm
        .macro  run function
        bl      \function
        .endm
        .macro  enter
        stp     x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        .endm
        .macro  leave_frame
        ldp     x29, x30, [sp], #16
        .endm
        .macro  has_left_frame
        .cfi_adjust_cfa_offset -16
        .cfi_restore x29
        .cfi_restore x30
        .endm
#elif defined(__s390x__)
        .macro  return
        br      %r14
        .endm
        .macro  work
        lghi    %r2, 0
        .endm
        .macro  go_if_zero to
        ltgr    %r2, %r2
        jz      \to
        .endm
        .macro  go to
        j       \to
        .endm
        .macro  run function
        brasl   %r14, \function
        .endm
        .macro  enter
        stmg    %r14, %r15, 112(%r15)
        .cfi_rel_offset %r14, 112
        .cfi_rel_offset %r15, 120
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        .endm
        .macro  leave_frame
        lmg     %r14, %r15, 272(%r15)
        .endm
        .macro  has_left_frame
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_adjust_cfa_offset -160
        .endm
#endif

        begin   leaf
        .cfi_startproc
        work
        return
        .cfi_endproc
        finish  leaf

        begin   jumps_there
        .cfi_startproc
        work
        go_if_zero 1f
        return
        .cfi_endproc
1:      work
        return
        finish  jumps_there

        begin   returns_there
        .cfi_startproc
        enter
        run     leaf
        .cfi_endproc
        leave_frame
        return
        finish  returns_there

        /* The code behind is called, and is no part of it.  */
        begin   calls_there
        .cfi_startproc
        enter
        run     .Lcalled
        leave_frame
        has_left_frame
        return
        .cfi_endproc
.Lcalled:
        work
        return
        finish  calls_there

        /* The code behind is entered from elsewhere only.  */
        begin   returns_before
        .cfi_startproc
        work
        return
        .cfi_endproc
.Ljumped_to:
        work
        return
        finish  returns_before

        begin   jumps_elsewhere
        .cfi_startproc
        go      .Ljumped_to
        .cfi_endproc
        finish  jumps_elsewhere

        begin   never_returns
        .cfi_startproc
1:      go      1b
        .cfi_endproc
        finish  never_returns

        /* What is behind is data.  */
        begin   ends_by_call
        .cfi_startproc
        enter
        run     never_returns
        .cfi_endproc
        work
        return
        finish  ends_by_call

        begin   main
        .cfi_startproc
        enter
        run     jumps_there
        run     returns_there
        run     calls_there
        run     returns_before
        run     jumps_elsewhere
        work
        leave_frame
        has_left_frame
        return
        .cfi_endproc
        finish  main

        .section .note.GNU-stack, "", %progbits
