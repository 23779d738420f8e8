/* A symbol of a function without a size is at the address of another one, and is defined before it. What is found there
   is the other one's: it overwrites FP.  */

#include "runtime/assembly.h"

        .text

        .globl  empty
        .hidden empty
        .type   empty, %function
empty:
        function clobbers
#if defined(__x86_64__)
        movl    $0x1234567, %ebp
        nop
        ret
#elif defined(__aarch64__)
        mov     x29, #0x1234
        nop
        ret
#elif defined(__s390x__)
        lghi    %r11, 0x1234
        nopr
        br      %r14
#endif
        end     clobbers

#if defined(__x86_64__)

        function saves
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        call    clobbers
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        ret
        end     saves

        function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    saves
        xorl    %eax, %eax
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        end     main

#elif defined(__aarch64__)

        function saves
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      clobbers
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     saves

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      saves
        mov     w0, #0
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     main

#elif defined(__s390x__)

        function saves
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        brasl   %r14, clobbers
        lmg     %r11, %r15, 248(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_restore %r11
        .cfi_def_cfa_offset 160
        br      %r14
        end     saves

        function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        brasl   %r14, saves
        lghi    %r2, 0
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     main

#endif

        .section .note.GNU-stack, "", %progbits
