/* A part of a function that lies elsewhere, and goes back to right behind a call of the function. The return address that
   this call has left behind is still where the ABI has it. The part has the function's frame; by its rows `part_wrong` has
   that of a function that was called.  */

#include "frames.h"

        .bss
        .balign 8
times:  .skip   16
        .text

        .macro  functions name
        function goes_back_\name
        frame
        call_of leaf
.Lback_\name:
        nop
#if defined(__x86_64__)
        cmpl    $0, times+8*wrong(%rip)
        movl    $1, times+8*wrong(%rip)
        je      part_\name
#elif defined(__aarch64__)
        adrp    x1, times+8*wrong
        ldr     w2, [x1, :lo12:times+8*wrong]
        mov     w3, #1
        str     w3, [x1, :lo12:times+8*wrong]
        cbnz    w2, 9f
        b       part_\name
9:
#else
        larl    %r1, times
        lg      %r2, 8*wrong(%r1)
        mvi     7+8*wrong(%r1), 1
        ltgr    %r2, %r2
        jge     part_\name
#endif
        end_frame
        returns
        end     goes_back_\name

        function between_\name
        nop
        returns
        end     between_\name

        function part_\name
        .ifeq   wrong
        rules_of_frame
        .endif
        nop
        nop
        nop
        goto    .Lback_\name
        end     part_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        main_calls between, goes_back
