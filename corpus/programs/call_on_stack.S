/* unsigned call_on_stack(unsigned (*function)(unsigned), unsigned argument, void *top)
   calls a function on another stack, in the middle of one activation: the CFA
   follows the frame pointer, which stays on the stack that was left.  */

        .file   "call_on_stack.S"
        .text

        .globl  call_on_stack
        .hidden call_on_stack
        .type   call_on_stack, %function

#if defined(__x86_64__)

call_on_stack:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        movq    %rdi, %rax
        movl    %esi, %edi
        movq    %rdx, %rsp
        call    *%rax
        leave
        .cfi_restore %rbp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc

#elif defined(__aarch64__)

call_on_stack:
        .cfi_startproc
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        .cfi_def_cfa_register x29
        mov     x9, x0
        mov     w0, w1
        mov     sp, x2
        blr     x9
        mov     sp, x29
        .cfi_def_cfa_register sp
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc

#elif defined(__s390x__)

call_on_stack:
        .cfi_startproc
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        lgr     %r11, %r15
        .cfi_def_cfa_register %r11
        lgr     %r1, %r2
        llgfr   %r2, %r3
        lgr     %r15, %r4
        aghi    %r15, -160              /* the callee's register save area */
        basr    %r14, %r1
        lgr     %r15, %r11
        .cfi_def_cfa_register %r15
        lmg     %r11, %r15, 88(%r15)
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        br      %r14
        .cfi_endproc

#endif

        .size   call_on_stack, . - call_on_stack

        .section .note.GNU-stack, "", %progbits
