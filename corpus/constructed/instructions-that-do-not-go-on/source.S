/* Privileged instructions that never go on. What comes after them is reached by a pointer alone, and its rows are right.  */

#include "frames.h"

        function f_right
#if defined(__x86_64__)
        testl   %edi, %edi
        js      1f
        movq    tab(%rip), %rax
        jmp     *%rax
1:      subq    $40, %rsp
        .cfi_adjust_cfa_offset 40
        sysretq
        .cfi_adjust_cfa_offset -40
#elif defined(__aarch64__)
        .arch   armv8.4-a
        cmp     w0, #0
        b.mi    1f
        adrp    x1, tab
        ldr     x1, [x1, :lo12:tab]
        br      x1
1:      sub     sp, sp, #48
        .cfi_adjust_cfa_offset 48
        dcps1
        .cfi_adjust_cfa_offset -48
#else
        cghi    %r2, 0
        jm      1f
        lgrl    %r1, tab
        br      %r1
1:      aghi    %r15, -48
        .cfi_adjust_cfa_offset 48
        lpswe   0(%r15)
        .cfi_adjust_cfa_offset -48
#endif
7:      nop
        nop
        returns
        end     f_right
        .data
        .balign 8
tab:    .quad   7b
        .text
        function main
        frame
        call_of leaf
        zero
#if defined(__x86_64__)
        xorl    %edi, %edi
#endif
        call_of f_right
        zero
        end_frame
        returns
        end     main

        .section .note.GNU-stack, "", %progbits
