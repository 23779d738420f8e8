/* When an epilogue has restored FP, it is the caller's again. Rows that are based on it then are right only where that
   happens to lie where the function's own was: `main` sees to that.  */

#include "frames.h"

        .macro  functions name
        function calls_\name
#if defined(__x86_64__)
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        nop
        popq    %rbp
        .cfi_restore %rbp
        .if     !wrong
        .cfi_def_cfa %rsp, 8
        .endif
        ret
#elif defined(__aarch64__)
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        .cfi_def_cfa_register x29
        nop
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .if     !wrong
        .cfi_def_cfa sp, 0
        .endif
        ret
#else
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        lgr     %r11, %r15
        .cfi_def_cfa_register %r11
        nop
        lmg     %r11, %r15, 248(%r15)
        .cfi_restore %r11
        .cfi_restore %r14
        .cfi_restore %r15
        .if     !wrong
        .cfi_def_cfa %r15, 160
        .endif
        br      %r14
#endif
        end     calls_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong
        .set    wrong, 0

#if defined(__s390x__)
        /* Its own FP is equal to its caller's: it needs no stack, and its caller has FP where SP is.  */
        function equal
        stg     %r11, 88(%r15)
        .cfi_offset %r11, -72
        lgr     %r11, %r15
        .cfi_def_cfa_register %r11
        nop
        lg      %r11, 88(%r15)
        .cfi_restore %r11
        .cfi_def_cfa_register %r15
        br      %r14
        end     equal
#endif

        function main
        frame
#if defined(__x86_64__)
        leaq    -16(%rsp), %rbp
#elif defined(__aarch64__)
        sub     x29, sp, #16
#else
        lay     %r11, -160(%r15)
#endif
        call_both calls
#if defined(__s390x__)
        lgr     %r11, %r15
        call_of equal
#endif
        zero
        end_frame
        returns
        end     main
