/* A restorer that nothing describes, right after a function. The address before it, where its frame is looked up, is that
   function's: whoever walks on by its rows has a frame that is not there.  */

#include "runtime/assembly.h"

        .text

        function before
        nop
        ret
        end     before

        .type   restorer, %function
restorer:
        movl    $15, %eax
        syscall
        .size   restorer, . - restorer

        function handler
        nop
        ret
        end     handler

        function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    before
        movl    $10, %edi
        leaq    action(%rip), %rsi
        xorl    %edx, %edx
        movl    $8, %r10d
        movl    $13, %eax               /* rt_sigaction */
        syscall
        movl    $39, %eax               /* getpid */
        syscall
        movl    %eax, %edi
        movl    $10, %esi
        movl    $62, %eax               /* kill */
        syscall
        xorl    %eax, %eax
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        end     main

        .data
        .balign 8
action: .quad   handler, 0x04000004, restorer, 0

        .section .note.GNU-stack, "", %progbits
