/* Data behind calls: `skip` and `return_past` go on behind it, in their caller. The CFA of `wrong` is wrong after that.
   Its callee does not move SP, nor does it return to where it was called from.  */

#include "runtime/assembly.h"

        .text

#if defined(__aarch64__)

        function skip
        add     x1, x30, #4
        br      x1
        end     skip

        function return_past
        add     x1, x30, #4
        ret     x1
        end     return_past

        .macro  passes name, size
        function \name
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      skip
        .inst   0
        .cfi_def_cfa_offset \size
        nop
        bl      leaf
        .cfi_def_cfa_offset 16
        bl      return_past
        .inst   0
        .cfi_def_cfa_offset \size
        nop
        bl      leaf
        .cfi_def_cfa_offset 16
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     \name
        .endm

        passes  right, 16
        passes  wrong, 32

        function leaf
        nop
        ret
        end     leaf

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      right
        bl      wrong
        mov     w0, #0
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     main

#elif defined(__s390x__)

        function skip
        b       4(%r14)
        end     skip

        .macro  passes name, size
        function \name
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        brasl   %r14, skip
        .long   0
        .cfi_def_cfa_offset \size
        nopr
        brasl   %r14, leaf
        .cfi_def_cfa_offset 320
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     \name
        .endm

        passes  right, 320
        passes  wrong, 336

        function leaf
        nopr
        br      %r14
        end     leaf

        function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        brasl   %r14, right
        brasl   %r14, wrong
        lghi    %r2, 0
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     main

#endif

        .section .note.GNU-stack, "", %progbits
