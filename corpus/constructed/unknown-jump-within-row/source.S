/* A jump to an address that only the caller knows, to code of the same function whose row is the same: there, the row is
   wrong while something else is on the stack.  */

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)

        function jumps
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        jmp     *%rdi
        .p2align 3
.Ltarget:
        pushq   %rax
        nop
        popq    %rax
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        ret
        end     jumps

        function main
        leaq    .Ltarget(%rip), %rdi
        call    jumps
        xorl    %eax, %eax
        ret
        end     main

#elif defined(__aarch64__)

        function jumps
        stp     x19, x20, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        br      x0
        .p2align 4
.Ltarget:
        sub     sp, sp, #16
        nop
        add     sp, sp, #16
        ldp     x19, x20, [sp], #16
        .cfi_adjust_cfa_offset -16
        ret
        end     jumps

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        adr     x0, .Ltarget
        bl      jumps
        mov     w0, #0
        ldp     x29, x30, [sp], #16
        .cfi_adjust_cfa_offset -16
        .cfi_restore x29
        .cfi_restore x30
        ret
        end     main

#elif defined(__s390x__)

        function jumps
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        br      %r2
        .p2align 4
.Ltarget:
        aghi    %r15, -16
        nopr
        aghi    %r15, 16
        aghi    %r15, 160
        .cfi_adjust_cfa_offset -160
        br      %r14
        end     jumps

        function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_rel_offset %r14, 112
        .cfi_rel_offset %r15, 120
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        larl    %r2, .Ltarget
        brasl   %r14, jumps
        lghi    %r2, 0
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_adjust_cfa_offset -160
        br      %r14
        end     main

#endif

        .section .note.GNU-stack, "", %progbits
