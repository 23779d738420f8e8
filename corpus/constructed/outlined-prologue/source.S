/* Callees that make a frame for their caller: `prologue` goes back by a jump, `probe` by a return. The CFA of `wrong` is
   too high by 16 while it has that frame.  */

#include "runtime/assembly.h"

        .text

        .type   prologue, %function
prologue:
        popq    %rcx
        pushq   %rbp
        subq    $8, %rsp
        jmp     *%rcx
        .size   prologue, . - prologue

        .type   probe, %function
probe:
        popq    %rcx
        subq    %rax, %rsp
        pushq   %rcx
        ret
        .size   probe, . - probe

        function outlined
        call    prologue
        .cfi_adjust_cfa_offset 16
        .cfi_offset %rbp, -16
        call    leaf
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        ret
        end     outlined

        function probed
        movl    $56, %eax
        call    probe
        .cfi_adjust_cfa_offset 56
        call    leaf
        addq    $56, %rsp
        .cfi_adjust_cfa_offset -56
        ret
        end     probed

        function wrong
        movl    $56, %eax
        call    probe
        .cfi_adjust_cfa_offset 72
        call    leaf
        addq    $56, %rsp
        .cfi_adjust_cfa_offset -72
        ret
        end     wrong

        function leaf
        nop
        ret
        end     leaf

        function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    outlined
        call    probed
        call    wrong
        xorl    %eax, %eax
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        end     main

        .section .note.GNU-stack, "", %progbits
