/* Rows that are wrong in places that faults with a page have as well, in functions that can't have these faults: SP was
   never in a floating-point register; the function returns; the first row has nothing in memory.  */

#include "frames.h"

        .section .comment, "MS", %progbits, 1
        .string "GCC: (Debian 16.2.0-5) 16.2.0"
        .text

#if defined(__s390x__)
        function stack_pointer_was_not_there
        ldgr    %f0, %r11
        .cfi_register %r11, %f0
        aghi    %r15, -168
        .cfi_def_cfa_offset 328
        lghi    %r11, 50
        lgdr    %r11, %f0
        .cfi_restore %r11
        .cfi_def_cfa_offset 160
        lghi    %r2, 7
        aghi    %r15, 168
        br      %r14
        end     stack_pointer_was_not_there

        function does_return
        ldgr    %f0, %r11
        lgr     %r11, %r15
        .cfi_def_cfa_register %r11
        nop
        lgdr    %r11, %f0
        .cfi_def_cfa_register %r15
        br      %r14
        end     does_return
#elif defined(__aarch64__)
        function first_row_saves_nothing
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        nop
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa_offset 0
        ret
        end     first_row_saves_nothing
#endif

        function main
        frame
#if defined(__s390x__)
        call_of stack_pointer_was_not_there
        call_of does_return
#else
        call_of first_row_saves_nothing
#endif
        zero
        end_frame
        returns
        end     main
