/* What functions call first of all, before they have a frame: it counts.  On
   s390x its return address is in r0, and r14 still holds the function's.  */

        .file   "function_entry.S"
        .text
        .globl  __fentry__
        .hidden __fentry__
        .type   __fentry__, %function
__fentry__:
        .cfi_startproc
#if defined(__x86_64__)
        addq    $1, entries(%rip)
        ret
#elif defined(__s390x__)
        .cfi_return_column %r0
        larl    %r1, entries
        agsi    0(%r1), 1
        lgr     %r1, %r0
        .cfi_register %r0, %r1
        br      %r1
#endif
        .cfi_endproc
        .size   __fentry__, . - __fentry__

        .local  entries
        .comm   entries, 8, 8

        .section .note.GNU-stack, "", %progbits
