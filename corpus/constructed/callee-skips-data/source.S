/* Callees that go on behind data after their call: by a table that is there, and by a return address that they have
   raised. What is behind the call is no code, although it can be read as such: nothing there proves that a row is
   wrong.  */

#include "frames.h"

#if defined(__x86_64__)
        .macro  data
        pushq   %rax
        .endm
#elif defined(__aarch64__)
        .macro  data
        sub     sp, sp, #16
        .endm
#else
        .macro  data
        aghi    %r15, -16
        .endm
#endif

        /* Goes on where the second word of the table says.  */
        function by_table
#if defined(__x86_64__)
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        .cfi_register %rip, %rcx
        movslq  4(%rcx), %rax
        uncovered
        addq    %rcx, %rax
        jmp     *%rax
#elif defined(__aarch64__)
        ldrsw   x1, [x30, #4]
        uncovered
        add     x1, x30, x1
        br      x1
#else
        lgf     %r1, 4(%r14)
        uncovered
        agr     %r1, %r14
        br      %r1
#endif
        end_uncovered by_table

        function raises
#if defined(__x86_64__)
        incq    (%rsp)
        uncovered
        ret
#elif defined(__aarch64__)
        add     x30, x30, #4
        uncovered
        ret
#else
        aghi    %r14, 4
        uncovered
        br      %r14
#endif
        end_uncovered raises

        function with_table
        frame
        call_of by_table
1:      data
#if defined(__x86_64__)
        nopl    (%rax)
        .org    1b + 4
#endif
        .long   2f - 1b
        data
2:      nop
        call_of leaf
        end_frame
        returns
        end     with_table

        function with_raised
        frame
        call_of raises
        data
        nop
        call_of leaf
        end_frame
        returns
        end     with_raised

        function by_pointer
        frame
#if defined(__x86_64__)
        leaq    raises(%rip), %rax
        call    *%rax
#elif defined(__aarch64__)
        adr     x1, raises
        blr     x1
#else
        larl    %r1, raises
        basr    %r14, %r1
#endif
        data
        nop
        call_of leaf
        end_frame
        returns
        end     by_pointer

        function main
        frame
        call_of with_table
        call_of with_raised
        call_of by_pointer
        zero
        end_frame
        returns
        end     main
