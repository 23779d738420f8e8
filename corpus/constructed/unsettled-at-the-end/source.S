/* `jumped_to` may have been called by the jump, which leaves a return address where the ABI has it, and ends the program
   before it returns.  */

#include "frames.h"

        function jumps
        frame
#if defined(__x86_64__)
        leaq    1f(%rip), %rax
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        leaq    jumped_to(%rip), %rcx
        jmp     *%rcx
        .cfi_adjust_cfa_offset -8
#elif defined(__aarch64__)
        adr     x30, 1f
        adr     x16, jumped_to
        br      x16
#else
        larl    %r14, 1f
        larl    %r1, jumped_to
        br      %r1
#endif
1:
        nop
        end_frame
        returns
        end     jumps

        function jumped_to
        frame
        nop
        nop
#if defined(__x86_64__)
        movl    $60, %eax
        xorl    %edi, %edi
        syscall
#elif defined(__aarch64__)
        mov     x8, #93
        mov     x0, #0
        svc     #0
#else
        lghi    %r2, 0
        svc     1
#endif
        end_frame
        returns
        end     jumped_to

        function main
        frame
        call_of jumps
        zero
        end_frame
        returns
        end     main
