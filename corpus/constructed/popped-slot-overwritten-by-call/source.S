/* A call overwrites the word below SP with its return address: what has been popped from there is lost, and rules that
   still read it are wrong.  */

#include "frames.h"

        function saved_fp
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -16
        movl    $5, %ebp
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        call    leaf
        nop
        ret
        end     saved_fp

        function return_address
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        call    leaf
        nop
        uncovered
        pushq   %rbx
        ret
        end_uncovered return_address

        function main
        frame
        call    saved_fp
        call    return_address
        zero
        end_frame
        returns
        end     main
