/* A function that gives up its caller's frame if its argument is not 0, and goes on elsewhere in that one's caller, where
   the address is that its caller has put in place of its own return address. Otherwise it returns to its caller. The row
   at its first instructions, which are on both ways, says that it leaves; it does so when it runs.  */

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)

        function leaves
        .cfi_def_cfa %rbp, 16
        .cfi_offset %rbp, -16
        nop
        testl   %edi, %edi
        jnz     1f
        .cfi_remember_state
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
1:      .cfi_restore_state
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        end     leaves

        function works
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $32, %rsp
        movl    $500, %ecx
1:      decl    %ecx
        jnz     1b
        leaq    lands(%rip), %rax
        movq    %rax, 8(%rbp)
        movl    $1, %edi
        call    leaves
        ud2
        end     works

        function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    works
        ud2
lands:  xorl    %eax, %eax
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        end     main

#elif defined(__s390x__)

        function leaves
        .cfi_def_cfa %r11, 320
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        nopr
        tmll    %r2, 1
        jne     1f
        .cfi_remember_state
        .cfi_def_cfa %r15, 160
        .cfi_restore %r11
        .cfi_restore %r14
        .cfi_restore %r15
        br      %r14
1:      .cfi_restore_state
        lmg     %r11, %r15, 248(%r11)
        .cfi_def_cfa %r15, 160
        .cfi_restore %r11
        .cfi_restore %r14
        .cfi_restore %r15
        br      %r14
        end     leaves

        function works
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        lgr     %r11, %r15
        .cfi_def_cfa_register %r11
        aghi    %r15, -32
        lghi    %r1, 1000
1:      brctg   %r1, 1b
        larl    %r1, lands
        stg     %r1, 272(%r11)
        lghi    %r2, 1
        brasl   %r14, leaves
        j       .+2
        end     works

        function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        brasl   %r14, works
        j       .+2
lands:  lghi    %r2, 0
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_adjust_cfa_offset -160
        br      %r14
        end     main

#endif

        .section .note.GNU-stack, "", %progbits
