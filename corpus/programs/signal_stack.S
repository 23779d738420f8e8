/* A context to which a signal handler can go back from its own stack.

     save_context       returns 0, and 1 when the context is restored
     restore_context    goes back to the last return of save_context

   Where FP and SP can't be loaded at once, one instruction runs with the one of
   this and the other of that context, which no row can describe: from there to
   the branch amd64 and aarch64 have no call frame information.  */

        .file   "signal_stack.S"
        .text

        .macro  function name
        .globl  \name
        .hidden \name
        .type   \name, %function
\name:
        .cfi_startproc
        .endm

        .macro  end name
        .size   \name, . - \name
        .endm

#if defined(__x86_64__)

        /* int save_context(struct context *context)  */
        function save_context
        movq    %rbx, (%rdi)
        movq    %r12, 8(%rdi)
        movq    %r13, 16(%rdi)
        movq    %r14, 24(%rdi)
        movq    %r15, 32(%rdi)
        movq    %rbp, 40(%rdi)
        leaq    8(%rsp), %rax
        movq    %rax, 48(%rdi)
        movq    (%rsp), %rax
        movq    %rax, 56(%rdi)
        xorl    %eax, %eax
        ret
        .cfi_endproc
        end     save_context

        /* void restore_context(const struct context *context)  */
        function restore_context
        movq    (%rdi), %rbx
        movq    8(%rdi), %r12
        movq    16(%rdi), %r13
        movq    24(%rdi), %r14
        movq    32(%rdi), %r15
        movq    56(%rdi), %rdx
        movl    $1, %eax
        movq    40(%rdi), %rbp
        .cfi_endproc
        movq    48(%rdi), %rsp
        jmp     *%rdx
        end     restore_context

#elif defined(__aarch64__)

        function save_context
        stp     x19, x20, [x0]
        stp     x21, x22, [x0, #16]
        stp     x23, x24, [x0, #32]
        stp     x25, x26, [x0, #48]
        stp     x27, x28, [x0, #64]
        stp     d8, d9, [x0, #80]
        stp     d10, d11, [x0, #96]
        stp     d12, d13, [x0, #112]
        stp     d14, d15, [x0, #128]
        stp     x29, x30, [x0, #144]
        mov     x9, sp
        str     x9, [x0, #160]
        mov     w0, #0
        ret
        .cfi_endproc
        end     save_context

        function restore_context
        ldp     x19, x20, [x0]
        ldp     x21, x22, [x0, #16]
        ldp     x23, x24, [x0, #32]
        ldp     x25, x26, [x0, #48]
        ldp     x27, x28, [x0, #64]
        ldp     d8, d9, [x0, #80]
        ldp     d10, d11, [x0, #96]
        ldp     d12, d13, [x0, #112]
        ldp     d14, d15, [x0, #128]
        ldr     x9, [x0, #160]
        mov     x10, x0
        mov     w0, #1
        ldp     x29, x30, [x10, #144]
        .cfi_endproc
        mov     sp, x9
        ret
        end     restore_context

#elif defined(__s390x__)

        function save_context
        stmg    %r6, %r15, 0(%r2)
        std     %f8, 80(%r2)
        std     %f9, 88(%r2)
        std     %f10, 96(%r2)
        std     %f11, 104(%r2)
        std     %f12, 112(%r2)
        std     %f13, 120(%r2)
        std     %f14, 128(%r2)
        std     %f15, 136(%r2)
        lghi    %r2, 0
        br      %r14
        .cfi_endproc
        end     save_context

        function restore_context
        ld      %f8, 80(%r2)
        ld      %f9, 88(%r2)
        ld      %f10, 96(%r2)
        ld      %f11, 104(%r2)
        ld      %f12, 112(%r2)
        ld      %f13, 120(%r2)
        ld      %f14, 128(%r2)
        ld      %f15, 136(%r2)
        lgr     %r1, %r2
        lghi    %r2, 1
        lmg     %r6, %r15, 0(%r1)
        br      %r14
        .cfi_endproc
        end     restore_context

#endif

        .section .note.GNU-stack, "", %progbits
