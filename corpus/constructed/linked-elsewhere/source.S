/* Functions that are called with the return address in a register of the caller's choice. In `is_wrong` the CFA is 8 too
   large, and in `forgets` the rows have it where the ABI does.  */

#include "frames.h"

        .macro  called_by_r1 name
        function \name
        .cfi_register %r14, %r1
        off     8
        nopr
        nopr
        br      %r1
        end     \name
        .endm

        called_by_r1 is_right
        .set    wrong, 1
        called_by_r1 is_wrong
        .set    wrong, 0

        function forgets
        nopr
        nopr
        br      %r1
        end     forgets

        /* One that makes a frame, and calls another.  */
        function outer
        .cfi_register %r14, %r1
        stg     %r1, 112(%r15)
        .cfi_offset %r14, -48
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        brasl   %r1, is_right
        lg      %r1, 272(%r15)
        .cfi_register %r14, %r1
        aghi    %r15, 160
        .cfi_adjust_cfa_offset -160
        br      %r1
        end     outer

        function calls
        frame
        brasl   %r1, is_right
        brasl   %r1, is_wrong
        brasl   %r1, forgets
        brasl   %r1, outer
        end_frame
        br      %r14
        end     calls

        function main
        frame
        call_of calls
        zero
        end_frame
        returns
        end     main

        .section .note.GNU-stack, "", %progbits
