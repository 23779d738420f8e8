/* A callee that removes 16 bytes of arguments from the stack when it returns, and callers of it: two whose CFI says so,
   and others whose CFI goes on as if the arguments were still there. One of each calls it by another function, which
   leaves by a jump to it, and one of each through a register. One more loads its address from memory, where the program
   has stored it: what was there at first is a function that removes nothing.  */

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)

        function removes
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        movq    16(%rsp), %rbp
        addq    24(%rsp), %rbp
        movq    %rbp, %rax
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        ret     $16
        end     removes

        function forwards
        nop
        jmp     removes
        end     forwards

        .macro  caller name, removed, call, callee:vararg
        function \name
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        leaq    removes(%rip), %rax
        pushq   $-7
        .cfi_adjust_cfa_offset 8
        pushq   $7
        .cfi_adjust_cfa_offset 8
        \call   \callee
        .cfi_adjust_cfa_offset -\removed
        nop
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        ret
        end     \name
        .endm

        .set    argument_bytes, 16
        caller  right, argument_bytes, call, removes
        caller  right_forwarded, argument_bytes, call, forwards
        caller  right_indirect, argument_bytes, call, *%rax
        caller  wrong, 0, call, removes
        caller  wrong_forwarded, 0, call, forwards
        caller  wrong_indirect, 0, call, *%rax

        function keeps
        movl    $7, %eax
        ret
        end     keeps

        function right_loaded
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        movq    pointer(%rip), %rax
        pushq   $-7
        .cfi_adjust_cfa_offset 8
        pushq   $7
        .cfi_adjust_cfa_offset 8
        call    *%rax
        .cfi_adjust_cfa_offset -16
        nop
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        ret
        end     right_loaded

        function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        leaq    removes(%rip), %rax
        movq    %rax, pointer(%rip)
        call    right_loaded
        call    right
        call    right_forwarded
        call    right_indirect
        call    wrong
        call    wrong_forwarded
        call    wrong_indirect
        xorl    %eax, %eax
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        end     main

#elif defined(__aarch64__)

        function removes
        ldp     x0, x1, [sp]
        add     x0, x0, x1
        add     sp, sp, #16
        .cfi_adjust_cfa_offset -16
        ret
        end     removes

        function forwards
        nop
        b       removes
        end     forwards

        .macro  caller name, removed, call, callee:vararg
        function \name
        stp     x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        adr     x2, removes
        mov     x0, #-7
        mov     x1, #7
        stp     x0, x1, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        \call   \callee
        .cfi_adjust_cfa_offset -\removed
        nop
        ldp     x29, x30, [sp], #16
        .cfi_adjust_cfa_offset -16
        .cfi_restore x29
        .cfi_restore x30
        ret
        end     \name
        .endm

        .set    argument_bytes, 16
        caller  right, argument_bytes, bl, removes
        caller  right_forwarded, argument_bytes, bl, forwards
        caller  right_indirect, argument_bytes, blr, x2
        caller  wrong, 0, bl, removes
        caller  wrong_forwarded, 0, bl, forwards
        caller  wrong_indirect, 0, blr, x2

        function keeps
        mov     x0, #7
        ret
        end     keeps

        function right_loaded
        stp     x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        adrp    x2, pointer
        ldr     x2, [x2, #:lo12:pointer]
        mov     x0, #-7
        mov     x1, #7
        stp     x0, x1, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        blr     x2
        .cfi_adjust_cfa_offset -16
        nop
        ldp     x29, x30, [sp], #16
        .cfi_adjust_cfa_offset -16
        .cfi_restore x29
        .cfi_restore x30
        ret
        end     right_loaded

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        adr     x0, removes
        adrp    x1, pointer
        str     x0, [x1, #:lo12:pointer]
        bl      right_loaded
        bl      right
        bl      right_forwarded
        bl      right_indirect
        bl      wrong
        bl      wrong_forwarded
        bl      wrong_indirect
        mov     w0, #0
        ldp     x29, x30, [sp], #16
        .cfi_adjust_cfa_offset -16
        .cfi_restore x29
        .cfi_restore x30
        ret
        end     main

#elif defined(__s390x__)

        function removes
        stmg    %r11, %r14, 88(%r15)
        .cfi_rel_offset %r11, 88
        .cfi_rel_offset %r14, 112
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        lg      %r11, 320(%r15)
        ag      %r11, 328(%r15)
        lgr     %r2, %r11
        lmg     %r11, %r14, 248(%r15)
        .cfi_restore %r11
        .cfi_restore %r14
        aghi    %r15, 176
        .cfi_adjust_cfa_offset -176
        br      %r14
        end     removes

        function forwards
        nopr
        jg      removes
        end     forwards

        .macro  caller name, removed, call, callee:vararg
        function \name
        stmg    %r14, %r15, 112(%r15)
        .cfi_rel_offset %r14, 112
        .cfi_rel_offset %r15, 120
        aghi    %r15, -176
        .cfi_adjust_cfa_offset 176
        larl    %r3, removes
        lghi    %r0, -7
        lghi    %r1, 7
        stmg    %r0, %r1, 160(%r15)
        \call   \callee
        .cfi_adjust_cfa_offset -\removed
        nopr
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     \name
        .endm

        .set    argument_bytes, 16
        caller  right, argument_bytes, brasl, %r14, removes
        caller  right_forwarded, argument_bytes, brasl, %r14, forwards
        caller  right_indirect, argument_bytes, basr, %r14, %r3
        caller  wrong, 0, brasl, %r14, removes
        caller  wrong_forwarded, 0, brasl, %r14, forwards
        caller  wrong_indirect, 0, basr, %r14, %r3

        function keeps
        lghi    %r2, 7
        br      %r14
        end     keeps

        function right_loaded
        stmg    %r14, %r15, 112(%r15)
        .cfi_rel_offset %r14, 112
        .cfi_rel_offset %r15, 120
        aghi    %r15, -176
        .cfi_adjust_cfa_offset 176
        lgrl    %r3, pointer
        lghi    %r0, -7
        lghi    %r1, 7
        stmg    %r0, %r1, 160(%r15)
        basr    %r14, %r3
        .cfi_adjust_cfa_offset -16
        nopr
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     right_loaded

        function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_rel_offset %r14, 112
        .cfi_rel_offset %r15, 120
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        larl    %r1, removes
        stgrl   %r1, pointer
        brasl   %r14, right_loaded
        brasl   %r14, right
        brasl   %r14, right_forwarded
        brasl   %r14, right_indirect
        brasl   %r14, wrong
        brasl   %r14, wrong_forwarded
        brasl   %r14, wrong_indirect
        lghi    %r2, 0
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_adjust_cfa_offset -160
        br      %r14
        end     main

#endif

        .data
        .balign 8
pointer:
        .quad   keeps

        .section .note.GNU-stack, "", %progbits
