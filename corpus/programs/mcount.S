/* What functions compiled with -pg call, from a frame of their own or before
   they have one: it counts.  */

        .file   "mcount.S"

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)
        /* Newer compilers call it by the other name, before the frame is made.  */
        .globl  __fentry__
        .hidden __fentry__
        .set    __fentry__, mcount
        function mcount
        addq    $1, entries(%rip)
        ret
        end     mcount
#elif defined(__aarch64__)
        function _mcount
        adrp    x1, entries
        add     x1, x1, :lo12:entries
        ldr     x2, [x1]
        add     x2, x2, 1
        str     x2, [x1]
        ret
        end     _mcount
#elif defined(__s390x__)
        function _mcount
        larl    %r1, entries
        agsi    0(%r1), 1
        br      %r14
        end     _mcount
#endif

        .local  entries
        .comm   entries, 8, 8

        .section .note.GNU-stack, "", %progbits
