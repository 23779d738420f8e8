/* unsigned leaf_end(unsigned x)      3x
   unsigned leaf_caller(unsigned x)   leaf_end(x) + 1
   unsigned leaf_outer(unsigned x)    leaf_caller(x) + leaf_end(x) + 1

   They know which registers the others leave alone, and save nothing on the
   stack themselves.  */

        .file   "leaf_calls.S"

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)

        function leaf_end
        leal    (%rdi,%rdi,2), %eax
        ret
        end     leaf_end

        function leaf_caller
        call    leaf_end
        addl    $1, %eax
        ret
        end     leaf_caller

        function leaf_outer
        call    leaf_caller
        movl    %eax, %ecx
        call    leaf_end
        leal    1(%rax,%rcx), %eax
        ret
        end     leaf_outer

#elif defined(__aarch64__)

        function leaf_end
        add     w0, w0, w0, lsl #1
        ret
        end     leaf_end

        function leaf_caller
        mov     x9, x30
        .cfi_register x30, x9
        bl      leaf_end
        add     w0, w0, #1
        mov     x30, x9
        .cfi_restore x30
        ret
        end     leaf_caller

        function leaf_outer
        mov     x10, x30
        .cfi_register x30, x10
        mov     w11, w0
        bl      leaf_caller
        mov     w12, w0
        mov     w0, w11
        bl      leaf_end
        add     w0, w0, w12
        add     w0, w0, #1
        mov     x30, x10
        .cfi_restore x30
        ret
        end     leaf_outer

#elif defined(__s390x__)

        function leaf_end
        lgr     %r0, %r2
        ar      %r2, %r2
        ar      %r2, %r0
        llgfr   %r2, %r2
        br      %r14
        end     leaf_end

        function leaf_caller
        lgr     %r1, %r14
        .cfi_register %r14, %r1
        brasl   %r14, leaf_end
        ahi     %r2, 1
        llgfr   %r2, %r2
        lgr     %r14, %r1
        .cfi_restore %r14
        br      %r14
        end     leaf_caller

        function leaf_outer
        lgr     %r3, %r14
        .cfi_register %r14, %r3
        lgr     %r4, %r2
        brasl   %r14, leaf_caller
        lgr     %r5, %r2
        lgr     %r2, %r4
        brasl   %r14, leaf_end
        ar      %r2, %r5
        ahi     %r2, 1
        llgfr   %r2, %r2
        lgr     %r14, %r3
        .cfi_restore %r14
        br      %r14
        end     leaf_outer

#endif

        .section .note.GNU-stack, "", %progbits
