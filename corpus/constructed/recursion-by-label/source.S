/* A function that calls itself by a label, as code after a landing pad may. All its rows are right.  */

#include "frames.h"

        function re_right
#if defined(__aarch64__)
        mov     w0, #3
.Lre:
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        subs    w0, w0, #1
        b.eq    1f
        bl      .Lre
        nop
1:      ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
#else
        lghi    %r2, 3
.Lre:
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        aghi    %r2, -1
        je      1f
        brasl   %r14, .Lre
        nopr
1:      lmg     %r11, %r15, 248(%r15)
        .cfi_restore %r11
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
#endif
        end     re_right
        function main
        frame
        call_of re_right
        zero
        end_frame
        returns
        end     main

        .section .note.GNU-stack, "", %progbits
