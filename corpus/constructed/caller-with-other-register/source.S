/* A function that aligns its stack, as the entry that binds calls does in ld.so: while it has called something, its
   caller is found by a register other than SP and FP.  `wrong` is the same with a CFA that is 8 too large.  */

#include "runtime/assembly.h"

        .text

        function leaf
        xorl    %eax, %eax
        ret
        end     leaf

        .macro  aligns name, off=0
        function \name
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbx, -16
        movq    %rsp, %rbx
        .cfi_def_cfa %rbx, 16 + \off
        andq    $-64, %rsp
        subq    $64, %rsp
        call    leaf
        movq    %rbx, %rsp
        .cfi_def_cfa %rsp, 16
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        end     \name
        .endm

        aligns  right
        aligns  wrong, 8

        function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    right
        call    wrong
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        end     main

        .section .note.GNU-stack, "", %progbits
