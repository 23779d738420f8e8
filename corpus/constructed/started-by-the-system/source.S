/* The first function of a program aligns SP, as what is called has to. The system has started it with SP aligned, so that its
   rows are right, although they don't say that there is no caller.  */

#include "frames.h"

        function main
        frame
        call_of leaf
        zero
        end_frame
        ret
        end     main

        .globl  _start
        .type   _start, %function
_start: .cfi_startproc
        movq    %rsp, %rdi
        andq    $-16, %rsp
        call    main
        xorl    %edi, %edi
        movl    $231, %eax
        syscall
        ud2
        .cfi_endproc
        .size   _start, . - _start
