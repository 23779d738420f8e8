/* A callee that removes its caller's arguments from the stack, some instructions before it returns. All rows are right.  */

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)

        function removes
        movq    8(%rsp), %rax
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        .cfi_register %rip, %rcx
        addq    $16, %rsp
        .cfi_adjust_cfa_offset -16
        nop
        jmp     *%rcx
        end     removes

        function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        pushq   $1
        .cfi_adjust_cfa_offset 8
        pushq   $2
        .cfi_adjust_cfa_offset 8
        call    removes
        .cfi_adjust_cfa_offset -16
        nop
        call    leaf
        xorl    %eax, %eax
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        end     main

        function leaf
        nop
        ret
        end     leaf

#elif defined(__aarch64__)

        function removes
        ldp     x0, x1, [sp]
        add     x0, x0, x1
        add     sp, sp, #16
        .cfi_def_cfa_offset -16
        nop
        nop
        ret
        end     removes

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x0, #-7
        mov     x1, #7
        stp     x0, x1, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        bl      removes
        .cfi_adjust_cfa_offset -16
        nop
        bl      leaf
        mov     w0, #0
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     main

        function leaf
        nop
        ret
        end     leaf

#elif defined(__s390x__)

        function removes
        lg      %r2, 160(%r15)
        ag      %r2, 168(%r15)
        aghi    %r15, 16
        .cfi_adjust_cfa_offset -16
        nopr
        nopr
        br      %r14
        end     removes

        function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        aghi    %r15, -16
        .cfi_adjust_cfa_offset 16
        lghi    %r0, -7
        lghi    %r1, 7
        stmg    %r0, %r1, 160(%r15)
        brasl   %r14, removes
        .cfi_adjust_cfa_offset -16
        nopr
        brasl   %r14, leaf
        lghi    %r2, 0
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     main

        function leaf
        nopr
        br      %r14
        end     leaf

#endif

        .section .note.GNU-stack, "", %progbits
