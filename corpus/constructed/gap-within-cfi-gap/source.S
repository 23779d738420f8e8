/* The middle of a function has no call frame information of any kind, and calls.  */

#include "frames.h"

        .type   gap, %function
gap:
        .cfi_startproc
        frame
        call_of leaf
        nop
        .cfi_endproc
        nop
        call_of leaf
        nop
        .cfi_startproc
#if defined(__x86_64__)
        .cfi_def_cfa %rsp, 24
        .cfi_offset %rbp, -16
#elif defined(__aarch64__)
        .cfi_def_cfa sp, 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
#else
        .cfi_def_cfa %r15, 320
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
#endif
        nop
        zero
        .cfi_endproc
        .cfi_startproc
#if defined(__x86_64__)
        .cfi_def_cfa %rsp, 24
        .cfi_offset %rbp, -16
#elif defined(__aarch64__)
        .cfi_def_cfa sp, 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
#else
        .cfi_def_cfa %r15, 320
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
#endif
        end_frame
        returns
        .cfi_endproc
        .size   gap, . - gap

        /* What its author has left out at the end has none.  */
        .type   ends, %function
ends:
        .cfi_startproc
        nop
        nop
        .cfi_endproc
        returns
        .size   ends, . - ends

        function main
        frame
        call_of gap
        call_of ends
        zero
        end_frame
        returns
        end     main
