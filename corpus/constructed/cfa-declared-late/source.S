/* CFI that says nothing of the CFA for the first two instructions: with `simple` there are no rules but those that
   follow.  */

#include "runtime/assembly.h"

        .text

        .type   late, %function
late:
        .cfi_startproc simple
        subq    $24, %rsp
        nop
        .cfi_def_cfa %rsp, 32
        .cfi_offset %rip, -8
        call    below
        addq    $24, %rsp
        .cfi_def_cfa_offset 8
        ret
        end     late

        function below
        nop
        ret
        end     below

        function main
        subq    $8, %rsp
        .cfi_def_cfa_offset 16
        call    late
        xorl    %eax, %eax
        addq    $8, %rsp
        .cfi_def_cfa_offset 8
        ret
        end     main

        .section .note.GNU-stack, "", %progbits
