/* A function that is called, and whose CFI says that a signal pushed its frame. It removes its argument when it
   returns, so that its caller has other rules at the return address than before it.  */

#include "runtime/assembly.h"

        .text

        function marked
        .cfi_signal_frame
        subq    $8, %rsp
        .cfi_def_cfa_offset 16
        call    below
        addq    $8, %rsp
        .cfi_def_cfa_offset 8
        ret     $8
        end     marked

        function below
        nop
        ret
        end     below

        function main
        subq    $8, %rsp
        .cfi_def_cfa_offset 16
        pushq   $0
        .cfi_def_cfa_offset 24
        call    marked
        .cfi_def_cfa_offset 16
        xorl    %eax, %eax
        addq    $8, %rsp
        .cfi_def_cfa_offset 8
        ret
        end     main

        .section .note.GNU-stack, "", %progbits
