/* Contexts as swapcontext keeps them: registers in a structure, SP among them,
   resumed by a branch to an address that is in it too.

     swap_context    saves what the ABI preserves, and resumes another context
     load_context    resumes a context and saves nothing
     context_exit    what the function of a new context returns to

   Where FP and SP can't be loaded at once, one instruction runs with the one of
   this and the other of that context, which no row can describe: from there to
   the branch amd64 and aarch64 have no call frame information.  */

        .file   "contexts.S"

        .set    marks_outermost, .gasversion. >= 24600

        .text

        .macro  function name
        .globl  \name
        .hidden \name
        .type   \name, %function
\name:
        .cfi_startproc
        .endm

        /* A function that is returned to without having called.  The look-up of
           such an address starts one byte before it, so a nop belongs to it.  */
        .macro  returned_to name
        .size   \name\().nop, . - \name\().nop
        .type   \name\().nop, %function
        .globl  \name
        .hidden \name
        .type   \name, %function
\name:
        .endm

        .macro  end name
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .hidden context_return

#if defined(__x86_64__)

        /* SP is that of the caller when the function has returned.  */
        .macro  load from
        movq    (\from), %rbx
        movq    8(\from), %r12
        movq    16(\from), %r13
        movq    24(\from), %r14
        movq    32(\from), %r15
        movq    56(\from), %rdx
        movq    64(\from), %rdi
        movq    40(\from), %rbp
        .cfi_endproc
        movq    48(\from), %rsp
        jmp     *%rdx
        .endm

        /* void swap_context(struct context *save, const struct context *load)  */
        function swap_context
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
        load    %rsi
        .size   swap_context, . - swap_context

        /* void load_context(const struct context *load)  */
        function load_context
        movq    %rdi, %rsi
        load    %rsi
        .size   load_context, . - load_context

context_exit.nop:
        .cfi_startproc
        .if     marks_outermost
        .cfi_undefined %rip
        .endif
        nop
        returned_to context_exit
        call    context_return
        ud2
        end     context_exit

#elif defined(__aarch64__)

        .macro  load from
        ldp     x19, x20, [\from]
        ldp     x21, x22, [\from, #16]
        ldp     x23, x24, [\from, #32]
        ldp     x25, x26, [\from, #48]
        ldp     x27, x28, [\from, #64]
        ldp     d8, d9, [\from, #80]
        ldp     d10, d11, [\from, #96]
        ldp     d12, d13, [\from, #112]
        ldp     d14, d15, [\from, #128]
        ldp     x9, x10, [\from, #160]
        ldr     x0, [\from, #176]
        ldp     x29, x30, [\from, #144]
        .cfi_endproc
        mov     sp, x9
        br      x10
        .endm

        function swap_context
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
        stp     x9, x30, [x0, #160]
        load    x1
        .size   swap_context, . - swap_context

        function load_context
        mov     x1, x0
        load    x1
        .size   load_context, . - load_context

context_exit.nop:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        .if     marks_outermost
        .cfi_undefined x30
        .else
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        .endif
        nop
        returned_to context_exit
        bl      context_return
        brk     #1
        end     context_exit

#elif defined(__s390x__)

        .macro  load from
        ld      %f8, 80(\from)
        ld      %f9, 88(\from)
        ld      %f10, 96(\from)
        ld      %f11, 104(\from)
        ld      %f12, 112(\from)
        ld      %f13, 120(\from)
        ld      %f14, 128(\from)
        ld      %f15, 136(\from)
        lg      %r2, 152(\from)
        lg      %r1, 144(\from)
        lmg     %r6, %r15, 0(\from)
        br      %r1
        .endm

        function swap_context
        stmg    %r6, %r15, 0(%r2)
        std     %f8, 80(%r2)
        std     %f9, 88(%r2)
        std     %f10, 96(%r2)
        std     %f11, 104(%r2)
        std     %f12, 112(%r2)
        std     %f13, 120(%r2)
        std     %f14, 128(%r2)
        std     %f15, 136(%r2)
        stg     %r14, 144(%r2)
        load    %r3
        end     swap_context

        function load_context
        lgr     %r3, %r2
        load    %r3
        end     load_context

context_exit.nop:
        .cfi_startproc
        .if     marks_outermost
        .cfi_undefined %r14
        .endif
        nopr    %r0
        returned_to context_exit
        brasl   %r14, context_return
        j       .+2
        end     context_exit

#endif

        .section .note.GNU-stack, "", %progbits
