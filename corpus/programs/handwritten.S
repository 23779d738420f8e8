/* Functions written by hand, with call frame information that is exact at each
   instruction:

     push_and_pop    the stack pointer moves in the middle of the function
     several_exits   an exit before the frame, and two after it
     frame_pointer   the CFA follows the frame pointer
     late_save       registers are saved long after the frame is set up
     in_a_register   the return address spends a while in another register,
                     where the ABI has one and SFrame can say so  */

        .file   "handwritten.S"
        .text

        .macro  function name
        .globl  \name
        .hidden \name
        .type   \name, %function
\name:
        .cfi_startproc
        .endm

        .macro  end name
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .hidden leaf

#if defined(__x86_64__)

        function push_and_pop
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movl    %edi, %ebx
        pushq   %r12
        .cfi_def_cfa_offset 24
        .cfi_offset %r12, -24
        subq    $8, %rsp
        .cfi_def_cfa_offset 32
        leal    3(%rdi), %r12d
        pushq   %r12
        .cfi_adjust_cfa_offset 8
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        call    leaf
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        addl    %ecx, %eax
        addl    %edx, %eax
        addq    $8, %rsp
        .cfi_def_cfa_offset 24
        popq    %r12
        .cfi_restore %r12
        .cfi_def_cfa_offset 16
        popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 8
        ret
        end     push_and_pop

        function several_exits
        testl   %edi, %edi
        jz      2f
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movl    %edi, %ebp
        call    leaf
        testl   $1, %eax
        jnz     1f
        .cfi_remember_state
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
1:      .cfi_restore_state
        leal    (%rbp,%rax,2), %eax
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
2:      movl    $1, %eax
        ret
        end     several_exits

        function frame_pointer
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $48, %rsp
        movl    %edi, -8(%rbp)
        call    leaf
        addl    -8(%rbp), %eax
        leave
        .cfi_restore %rbp
        .cfi_def_cfa %rsp, 8
        ret
        end     frame_pointer

        function late_save
        subq    $40, %rsp
        .cfi_def_cfa_offset 48
        nop
        movq    %rbp, 24(%rsp)
        .cfi_offset %rbp, -24
        movl    %edi, %ebp
        call    leaf
        addl    %ebp, %eax
        movq    24(%rsp), %rbp
        .cfi_restore %rbp
        addq    $40, %rsp
        .cfi_def_cfa_offset 8
        ret
        end     late_save

        /* The return address of amd64 is always in memory.  */
        function in_a_register
        leal    9(%rdi), %eax
        ret
        end     in_a_register

#elif defined(__aarch64__)

        function push_and_pop
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str     x19, [sp, #16]
        .cfi_offset x19, -16
        mov     w19, w0
        add     w1, w0, #3
        stp     x19, x1, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        bl      leaf
        ldp     x2, x3, [sp], #16
        .cfi_adjust_cfa_offset -16
        add     w0, w0, w2
        add     w0, w0, w3
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     push_and_pop

        function several_exits
        cbz     w0, 2f
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str     w0, [sp, #16]
        bl      leaf
        tbnz    w0, #0, 1f
        .cfi_remember_state
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
1:      .cfi_restore_state
        ldr     w1, [sp, #16]
        add     w0, w1, w0, lsl #1
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
2:      mov     w0, #1
        ret
        end     several_exits

        function frame_pointer
        stp     x29, x30, [sp, #-48]!
        .cfi_def_cfa_offset 48
        .cfi_offset x29, -48
        .cfi_offset x30, -40
        mov     x29, sp
        .cfi_def_cfa_register x29
        sub     sp, sp, #32
        str     w0, [x29, #16]
        bl      leaf
        ldr     w1, [x29, #16]
        add     w0, w0, w1
        mov     sp, x29
        .cfi_def_cfa_register sp
        ldp     x29, x30, [sp], #48
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     frame_pointer

        /* The link register alone, without a frame record.  */
        function late_save
        sub     sp, sp, #32
        .cfi_def_cfa_offset 32
        str     w0, [sp, #8]
        str     x30, [sp, #24]
        .cfi_offset x30, -8
        bl      leaf
        ldr     w1, [sp, #8]
        add     w0, w0, w1
        ldr     x30, [sp, #24]
        .cfi_restore x30
        add     sp, sp, #32
        .cfi_def_cfa_offset 0
        ret
        end     late_save

        /* SFrame has no rule for this on aarch64: it stays in x30.  */
        function in_a_register
        add     w0, w0, #9
        ret
        end     in_a_register

#elif defined(__s390x__)

        function push_and_pop
        stmg    %r12, %r15, 96(%r15)
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        lr      %r12, %r2
        aghi    %r15, -16
        .cfi_adjust_cfa_offset 16
        st      %r2, 160(%r15)
        ahi     %r12, 3
        st      %r12, 168(%r15)
        brasl   %r14, leaf
        a       %r2, 160(%r15)
        a       %r2, 168(%r15)
        aghi    %r15, 16
        .cfi_adjust_cfa_offset -16
        lmg     %r12, %r15, 256(%r15)
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     push_and_pop

        function several_exits
        ltr     %r2, %r2
        je      2f
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -168
        .cfi_def_cfa_offset 328
        st      %r2, 160(%r15)
        brasl   %r14, leaf
        tmll    %r2, 1
        jne     1f
        .cfi_remember_state
        lmg     %r14, %r15, 280(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
1:      .cfi_restore_state
        sll     %r2, 1
        a       %r2, 160(%r15)
        lmg     %r14, %r15, 280(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
2:      lhi     %r2, 1
        br      %r14
        end     several_exits

        function frame_pointer
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -168
        .cfi_def_cfa_offset 328
        lgr     %r11, %r15
        .cfi_def_cfa_register %r11
        st      %r2, 160(%r11)
        aghi    %r15, -32
        brasl   %r14, leaf
        a       %r2, 160(%r11)
        lmg     %r11, %r15, 256(%r11)
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa %r15, 160
        br      %r14
        end     frame_pointer

        /* The return address is not in its usual slot.  */
        function late_save
        aghi    %r15, -176
        .cfi_def_cfa_offset 336
        st      %r2, 160(%r15)
        stg     %r14, 168(%r15)
        .cfi_offset %r14, -168
        brasl   %r14, leaf
        a       %r2, 160(%r15)
        lg      %r14, 168(%r15)
        .cfi_restore %r14
        aghi    %r15, 176
        .cfi_def_cfa_offset 160
        br      %r14
        end     late_save

        /* A floating-point register holds the return address, as leaf functions
           of gcc do it.  */
        function in_a_register
        ldgr    %f0, %r14
        .cfi_register %r14, %f0
        lghi    %r14, 9
        ar      %r2, %r14
        lgdr    %r14, %f0
        .cfi_restore %r14
        br      %r14
        end     in_a_register

#endif

        .section .note.GNU-stack, "", %progbits
