/* A function that removes its arguments from the stack, and then jumps to its return address, which it has loaded before.
   The rows of its caller in `wrong` forget the removal.  */

#include "frames.h"

        function removes
#if defined(__x86_64__)
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        .cfi_register %rip, %rcx
        addq    $16, %rsp
        .cfi_adjust_cfa_offset -16
        jmp     *%rcx
#elif defined(__aarch64__)
        str     x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x30, -16
        ldr     x16, [sp]
        add     sp, sp, #32
        .cfi_def_cfa_offset -16
        .cfi_same_value x30
        br      x16
#else
        stg     %r14, 112(%r15)
        .cfi_offset %r14, -48
        lg      %r1, 112(%r15)
        .cfi_same_value %r14
        aghi    %r15, 16
        .cfi_adjust_cfa_offset -16
        br      %r1
#endif
        end     removes

        .macro  functions name
        function calls_\name
        frame
#if defined(__x86_64__)
        subq    $16, %rsp
#elif defined(__aarch64__)
        sub     sp, sp, #16
#else
        aghi    %r15, -16
#endif
        .cfi_adjust_cfa_offset 16
        call_of removes
        .cfi_adjust_cfa_offset -16
        off     16
        nop
        nop
        off     -16
        end_frame
        returns
        end     calls_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        main_calls calls

        .section .note.GNU-stack, "", %progbits
