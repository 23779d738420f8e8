/* Calls without a call instruction: the return address is put where the ABI has it, and the callee is jumped to, which
   returns there. `right` is called so, and so is `wrong`, whose CFA is wrong.  */

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)

        function right
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        call    leaf
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        ret
        end     right

        function wrong
        pushq   %rbx
        call    leaf
        popq    %rbx
        ret
        end     wrong

        function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        leaq    1f(%rip), %rax
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        jmp     right
        .cfi_adjust_cfa_offset -8
1:      leaq    1f(%rip), %rax
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        jmp     wrong
        .cfi_adjust_cfa_offset -8
1:      xorl    %eax, %eax
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        end     main

        function leaf
        nop
        ret
        end     leaf

#elif defined(__aarch64__)

        function right
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      leaf
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     right

        function wrong
        stp     x29, x30, [sp, #-16]!
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      leaf
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        ret
        end     wrong

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        adr     x30, 1f
        b       right
1:      adr     x30, 1f
        b       wrong
1:      mov     w0, #0
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

        function right
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        brasl   %r14, leaf
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     right

        function wrong
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        brasl   %r14, leaf
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        br      %r14
        end     wrong

        function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        larl    %r14, 1f
        jg      right
1:      larl    %r14, 1f
        jg      wrong
1:      lghi    %r2, 0
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
