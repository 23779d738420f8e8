/* A callee lets its own callee raise the return address where it is saved, and goes on past the word after its call. The
   rows are right; what that word would do if it were executed proves nothing.  */

#include "frames.h"

        function raises
#if defined(__x86_64__)
        addq    $4, (%rdi)
        ret
#elif defined(__aarch64__)
        ldr     x1, [x0]
        add     x1, x1, #4
        str     x1, [x0]
        ret
#else
        agsi    0(%r2), 4
        br      %r14
#endif
        end     raises

        function takes
#if defined(__x86_64__)
        leaq    (%rsp), %rdi
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    raises
        uncovered
        addq    $8, %rsp
        ret
#elif defined(__aarch64__)
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        add     x0, sp, #8
        bl      raises
        uncovered
        ldp     x29, x30, [sp], #16
        ret
#else
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        la      %r2, 272(%r15)
        brasl   %r14, raises
        uncovered
        lmg     %r14, %r15, 272(%r15)
        br      %r14
#endif
        end_uncovered takes

#if defined(__x86_64__)
        /* Reads the text after its call, and goes on there.  */
        function prints
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        .cfi_register %rip, %rsi
        nop
        uncovered
1:      lodsb
        testb   %al, %al
        jnz     1b
        pushq   %rsi
        ret
        end_uncovered prints

        function with_text
        frame
        call    prints
        .asciz  "PUSH"
        nop
        call_of leaf
        end_frame
        returns
        end     with_text
#endif

        function with_word
        frame
        call_of takes
#if defined(__x86_64__)
        .ascii  "PUSH"
#elif defined(__aarch64__)
        sub     sp, sp, #16
#else
        aghi    %r15, -16
#endif
        nop
        call_of leaf
        end_frame
        returns
        end     with_word

        function main
        frame
        call_of with_word
#if defined(__x86_64__)
        call_of with_text
#endif
        zero
        end_frame
        returns
        end     main
