/* The restorer with call frame information, for what the assembler makes of it.
   runtime/bench_restorer.S says what is true.

   On amd64 the frame's size depends on the processor and on alignment, so what
   was interrupted is found through addresses in the frame, as C libraries say
   it.  Elsewhere the frame is on the stack that was interrupted and has one
   size, and the CFA is at an offset.  The column of the return address has the
   interrupted PC.  */

        .file   "signals_cfi.S"
        .text

        /* A handler's caller is looked up one byte before its return address.  */
        .type   restorer_with_cfi.nop, %function
restorer_with_cfi.nop:
        .cfi_startproc
        .cfi_signal_frame
#if defined(__x86_64__)
        .cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06     /* CFA = *(rsp+160) */
        .cfi_escape 0x10, 16, 3, 0x77, 0xa8, 0x01       /* rip at rsp+168 */
        .cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0x00        /* rbp at rsp+120 */
#elif defined(__aarch64__)
        .cfi_def_cfa sp, 4704
        .cfi_offset x29, 544 - 4704
        .cfi_offset x30, 568 - 4704
#elif defined(__s390x__)
        .cfi_def_cfa %r15, 1480
        .cfi_offset %r11, 440 - 1480
        .cfi_offset %r14, 344 - 1480
#endif
#if defined(__s390x__)
        nopr    %r0
#else
        nop
#endif

        .size   restorer_with_cfi.nop, . - restorer_with_cfi.nop

        .globl  restorer_with_cfi
        .hidden restorer_with_cfi
        .type   restorer_with_cfi, %function
restorer_with_cfi:
#if defined(__x86_64__)
        movl    $15, %eax
        syscall
#elif defined(__aarch64__)
        mov     x8, #139
        svc     #0
#elif defined(__s390x__)
        svc     173
#endif
        .cfi_endproc
        .size   restorer_with_cfi, . - restorer_with_cfi

        .section .note.GNU-stack, "", %progbits
