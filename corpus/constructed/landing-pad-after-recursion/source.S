/* A function that has called itself is left by what it has called, as by `_Unwind_Resume`, for its own frame further out: right
   after the call, which is where that call would have returned to as well. SP says which of the two it is.  */

#include "frames.h"

        .bss
        .balign 8
outer_sp:
        .skip   8

        .text
        function leaves
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        lgrl    %r1, outer_sp
        stg     %r1, 280(%r15)
        lmg     %r11, %r15, 248(%r15)
        .cfi_restore %r11
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     leaves

        .macro  functions name
        function throws_\name
        frame
        ltgr    %r2, %r2
        jz      1f
        stgrl   %r15, outer_sp
        lghi    %r2, 0
        brasl   %r14, throws_\name
1:      brasl   %r14, leaves
        nop
        off     16
        nop
        off     -16
        end_frame
        returns
        end     throws_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong
        .set    wrong, 0

        function main
        frame
        lghi    %r2, 1
        call_of throws_right
        lghi    %r2, 1
        call_of throws_wrong
        zero
        end_frame
        returns
        end     main
