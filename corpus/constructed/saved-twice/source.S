/* FP is saved twice. What it is restored from is the second slot; the first one is used for something else then, and the
   rows of `wrong` still name that.  */

#include "frames.h"

        .macro  functions name
        function twice_\name
#if defined(__x86_64__)
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        movq    %rbp, 8(%rsp)
        movq    %rbp, (%rsp)
        .cfi_offset %rbp, -32 + 8 * wrong
        movq    $5, 8(%rsp)
        movl    $77, %ebp
        nop
        movq    (%rsp), %rbp
        .cfi_same_value %rbp
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        ret
#elif defined(__aarch64__)
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x30, -24
        .cfi_offset x29, -32
        str     x29, [sp, #16]
        .cfi_offset x29, -16 - 16 * wrong
        str     xzr, [sp]
        mov     x29, #77
        nop
        ldr     x29, [sp, #16]
        .cfi_same_value x29
        ldr     x30, [sp, #8]
        .cfi_same_value x30
        add     sp, sp, #32
        .cfi_def_cfa_offset 0
        ret
#else
        stg     %r11, 88(%r15)
        stg     %r11, 96(%r15)
        .cfi_offset %r11, -64 - 8 * wrong
        mvghi   88(%r15), 5
        lghi    %r11, 77
        nop
        lg      %r11, 96(%r15)
        .cfi_same_value %r11
        br      %r14
#endif
        end     twice_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        main_calls twice

        .section .note.GNU-stack, "", %progbits
