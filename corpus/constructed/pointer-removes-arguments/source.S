/* A callee that is known by a pointer only removes its arguments from the stack, as the rows of its callers have
   to say. The code of the callers alone shows nothing of it.  */

#include "frames.h"

        function removes
#if defined(__x86_64__)
        ret     $16
#elif defined(__aarch64__)
        add     sp, sp, #16
        .cfi_def_cfa_offset -16
        ret
#else
        aghi    %r15, 16
        .cfi_def_cfa_offset 144
        br      %r14
#endif
        end     removes

        .macro  functions name
        function calls_\name
        frame   24
#if defined(__x86_64__)
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        call    *pointer(%rip)
#elif defined(__aarch64__)
        sub     sp, sp, #16
        .cfi_adjust_cfa_offset 16
        adrp    x1, pointer
        ldr     x1, [x1, :lo12:pointer]
        blr     x1
#else
        aghi    %r15, -16
        .cfi_adjust_cfa_offset 16
        larl    %r1, pointer
        lg      %r1, 0(%r1)
        basr    %r14, %r1
#endif
        .cfi_adjust_cfa_offset -16
        off     16
        nop
        nop
        off     -16
        end_frame 24
        returns
        end     calls_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        function main
        frame
        call_of calls_right
        call_of calls_wrong
        zero
        end_frame
        returns
        end     main

        .data
        .balign 8
pointer: .quad  removes
