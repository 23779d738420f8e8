/* Functions that give up their caller's frame, and go on in that one's caller, behind its call. Rows at their second
   instructions say that they leave; in one of them, for another place of the stack.  */

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)

        .macro  leaver name, cfa
        function \name
        nop
        .cfi_def_cfa %rbp, \cfa
        .cfi_offset %rbp, -\cfa
        nop
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        end     \name
        .endm

        .macro  worker name, callee
        function \name
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $32, %rsp
        movl    $500, %ecx
1:      decl    %ecx
        jnz     1b
        call    \callee
        ud2
        end     \name
        .endm

        leaver  leaves, 16
        leaver  leaves_wrongly, 32
        worker  works, leaves
        worker  works_too, leaves_wrongly

        function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    works
        call    works_too
        xorl    %eax, %eax
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        end     main

#elif defined(__s390x__)

        .macro  leaver name, cfa
        function \name
        nopr
        .cfi_def_cfa %r11, \cfa
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        nopr
        lmg     %r11, %r15, 248(%r11)
        .cfi_def_cfa %r15, 160
        .cfi_restore %r11
        .cfi_restore %r14
        .cfi_restore %r15
        br      %r14
        end     \name
        .endm

        .macro  worker name, callee
        function \name
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
        brasl   %r14, \callee
        j       .+2
        end     \name
        .endm

        leaver  leaves, 320
        leaver  leaves_wrongly, 336
        worker  works, leaves
        worker  works_too, leaves_wrongly

        function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        brasl   %r14, works
        brasl   %r14, works_too
        lghi    %r2, 0
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_adjust_cfa_offset -160
        br      %r14
        end     main

#endif

        .section .note.GNU-stack, "", %progbits
