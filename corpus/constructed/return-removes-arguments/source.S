/* A callee that removes its caller's arguments from the stack when it returns, the ordinary way, and whose CFI counts
   them as part of its own frame from the first instruction on: each CFA is too high by their size.  */

#include "runtime/assembly.h"

        .text

        function removes
        .cfi_def_cfa_offset 24
        movl    $200, %ecx
1:      decl    %ecx
        jnz     1b
        call    below
        ret     $16
        end     removes

        function below
        nop
        ret
        end     below

        function main
        pushq   $1
        .cfi_adjust_cfa_offset 8
        pushq   $2
        .cfi_adjust_cfa_offset 8
        call    removes
        .cfi_adjust_cfa_offset -16
        call    below
        xorl    %eax, %eax
        ret
        end     main

        .section .note.GNU-stack, "", %progbits
