/* Stacks are switched by hand: what the ABI preserves is saved on the stack that
   is left, and taken from the one that is resumed.  Both frames look the same,
   so that the rows hold on either side of the switch.

     switch_stacks       parks the running stack and resumes another one
     prepare_stack       forges the frame by which a new stack is resumed
     coroutine_entry     what that frame returns to: the outermost function  */

        .file   "coroutines.S"

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

        .hidden coroutine_exit

#if defined(__x86_64__)

        /* void switch_stacks(void **from, void *to)  */
        function switch_stacks
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        pushq   %rbx
        .cfi_def_cfa_offset 24
        .cfi_offset %rbx, -24
        pushq   %r12
        .cfi_def_cfa_offset 32
        .cfi_offset %r12, -32
        pushq   %r13
        .cfi_def_cfa_offset 40
        .cfi_offset %r13, -40
        pushq   %r14
        .cfi_def_cfa_offset 48
        .cfi_offset %r14, -48
        pushq   %r15
        .cfi_def_cfa_offset 56
        .cfi_offset %r15, -56
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        popq    %r15
        .cfi_restore %r15
        .cfi_def_cfa_offset 48
        popq    %r14
        .cfi_restore %r14
        .cfi_def_cfa_offset 40
        popq    %r13
        .cfi_restore %r13
        .cfi_def_cfa_offset 32
        popq    %r12
        .cfi_restore %r12
        .cfi_def_cfa_offset 24
        popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 16
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        end     switch_stacks

        /* void *prepare_stack(void *top, void (*function)(void *), void *argument)  */
        function prepare_stack
        leaq    coroutine_entry(%rip), %rax
        movq    $0, -8(%rdi)
        movq    $0, -16(%rdi)           /* where a return address would be */
        movq    %rax, -24(%rdi)
        movq    $0, -32(%rdi)           /* rbp */
        movq    %rsi, -40(%rdi)         /* rbx */
        movq    %rdx, -48(%rdi)         /* r12 */
        leaq    -72(%rdi), %rax
        ret
        end     prepare_stack

coroutine_entry.nop:
        .cfi_startproc
        .if     marks_outermost
        .cfi_undefined %rip
        .endif
        nop
        returned_to coroutine_entry
        movq    %r12, %rdi
        call    *%rbx
        call    coroutine_exit
        ud2
        end     coroutine_entry

#elif defined(__aarch64__)

        function switch_stacks
        stp     x29, x30, [sp, #-160]!
        .cfi_def_cfa_offset 160
        .cfi_offset x29, -160
        .cfi_offset x30, -152
        stp     x19, x20, [sp, #16]
        .cfi_offset x19, -144
        .cfi_offset x20, -136
        stp     x21, x22, [sp, #32]
        .cfi_offset x21, -128
        .cfi_offset x22, -120
        stp     x23, x24, [sp, #48]
        .cfi_offset x23, -112
        .cfi_offset x24, -104
        stp     x25, x26, [sp, #64]
        .cfi_offset x25, -96
        .cfi_offset x26, -88
        stp     x27, x28, [sp, #80]
        .cfi_offset x27, -80
        .cfi_offset x28, -72
        stp     d8, d9, [sp, #96]
        .cfi_offset d8, -64
        .cfi_offset d9, -56
        stp     d10, d11, [sp, #112]
        .cfi_offset d10, -48
        .cfi_offset d11, -40
        stp     d12, d13, [sp, #128]
        .cfi_offset d12, -32
        .cfi_offset d13, -24
        stp     d14, d15, [sp, #144]
        .cfi_offset d14, -16
        .cfi_offset d15, -8
        mov     x9, sp
        str     x9, [x0]
        mov     sp, x1
        ldp     x19, x20, [sp, #16]
        .cfi_restore x19
        .cfi_restore x20
        ldp     x21, x22, [sp, #32]
        .cfi_restore x21
        .cfi_restore x22
        ldp     x23, x24, [sp, #48]
        .cfi_restore x23
        .cfi_restore x24
        ldp     x25, x26, [sp, #64]
        .cfi_restore x25
        .cfi_restore x26
        ldp     x27, x28, [sp, #80]
        .cfi_restore x27
        .cfi_restore x28
        ldp     d8, d9, [sp, #96]
        .cfi_restore d8
        .cfi_restore d9
        ldp     d10, d11, [sp, #112]
        .cfi_restore d10
        .cfi_restore d11
        ldp     d12, d13, [sp, #128]
        .cfi_restore d12
        .cfi_restore d13
        ldp     d14, d15, [sp, #144]
        .cfi_restore d14
        .cfi_restore d15
        ldp     x29, x30, [sp], #160
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     switch_stacks

        function prepare_stack
        stp     xzr, xzr, [x0, #-16]    /* the frame record of coroutine_entry */
        adr     x9, coroutine_entry
        stp     xzr, x9, [x0, #-176]    /* x29, x30 */
        stp     x1, x2, [x0, #-160]     /* x19, x20 */
        sub     x0, x0, #176
        ret
        end     prepare_stack

        /* The link register holds this function's own address at first.  */
coroutine_entry.nop:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        .if     marks_outermost
        .cfi_undefined x30
        .else
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        .endif
        nop
        returned_to coroutine_entry
        mov     x0, x20
        blr     x19
        bl      coroutine_exit
        brk     #1
        end     coroutine_entry

#elif defined(__s390x__)

        function switch_stacks
        stmg    %r6, %r15, 48(%r15)
        .cfi_offset %r6, -112
        .cfi_offset %r7, -104
        .cfi_offset %r8, -96
        .cfi_offset %r9, -88
        .cfi_offset %r10, -80
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -64
        .cfi_def_cfa_offset 224
        std     %f8, 0(%r15)
        .cfi_offset %f8, -224
        std     %f9, 8(%r15)
        .cfi_offset %f9, -216
        std     %f10, 16(%r15)
        .cfi_offset %f10, -208
        std     %f11, 24(%r15)
        .cfi_offset %f11, -200
        std     %f12, 32(%r15)
        .cfi_offset %f12, -192
        std     %f13, 40(%r15)
        .cfi_offset %f13, -184
        std     %f14, 48(%r15)
        .cfi_offset %f14, -176
        std     %f15, 56(%r15)
        .cfi_offset %f15, -168
        stg     %r15, 0(%r2)
        lgr     %r15, %r3
        ld      %f8, 0(%r15)
        .cfi_restore %f8
        ld      %f9, 8(%r15)
        .cfi_restore %f9
        ld      %f10, 16(%r15)
        .cfi_restore %f10
        ld      %f11, 24(%r15)
        .cfi_restore %f11
        ld      %f12, 32(%r15)
        .cfi_restore %f12
        ld      %f13, 40(%r15)
        .cfi_restore %f13
        ld      %f14, 48(%r15)
        .cfi_restore %f14
        ld      %f15, 56(%r15)
        .cfi_restore %f15
        lmg     %r6, %r15, 112(%r15)
        .cfi_restore %r6
        .cfi_restore %r7
        .cfi_restore %r8
        .cfi_restore %r9
        .cfi_restore %r10
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     switch_stacks

        /* The new stack starts with the register save area that a caller
           provides.  */
        function prepare_stack
        larl    %r1, coroutine_entry
        aghi    %r2, -160
        stg     %r3, 48(%r2)            /* r6 */
        stg     %r4, 56(%r2)            /* r7 */
        lghi    %r0, 0
        stg     %r0, 88(%r2)            /* r11 */
        stg     %r1, 112(%r2)           /* r14 */
        stg     %r2, 120(%r2)           /* r15 */
        aghi    %r2, -64
        br      %r14
        end     prepare_stack

coroutine_entry.nop:
        .cfi_startproc
        .if     marks_outermost
        .cfi_undefined %r14
        .endif
        nopr    %r0
        returned_to coroutine_entry
        lgr     %r2, %r7
        basr    %r14, %r6
        brasl   %r14, coroutine_exit
        j       .+2
        end     coroutine_entry

#endif

        .section .note.GNU-stack, "", %progbits
