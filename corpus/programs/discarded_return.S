/* Callees that give up their return address, and the frame it lies in, and
   return to the caller's caller if X is odd:

     outer_small           has the smallest frame from which the ABI can call
     outer_frame           has a frame, which the callee takes down
     outer_frame_pointer   the same by FP
     outer_two             two frames are taken down at once
     by_jump               pops its return address, and jumps there
     with_arguments        its callee pops the arguments, where the ABI can

   A frame is given up when SP is past the CFA that its caller has for SP, and
   not yet when SP is there. From then on the rules are those of the frame that
   is topmost then, although the PC is elsewhere.  */

        .file   "discarded_return.S"

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)

        function outer_small
        call    drop_return
        addl    $100, %eax
        ret
        end     outer_small

        /* SP is the CFA then: the callee runs on, and its return address lies
           below.  */
        function drop_return
        leal    (%rdi,%rdi,2), %eax
        testl   $1, %edi
        jnz     1f
        ret
1:      addq    $8, %rsp
        .cfi_def_cfa_offset 0
        addl    $1, %eax
        ret
        end     drop_return

        function outer_frame
        subq    $24, %rsp
        .cfi_def_cfa_offset 32
        call    drop_frame
        addl    $200, %eax
        addq    $24, %rsp
        .cfi_def_cfa_offset 8
        ret
        end     outer_frame

        function drop_frame
        leal    (%rdi,%rdi,2), %eax
        testl   $1, %edi
        jz      1f
        addq    $32, %rsp
        /* The CFA of outer_frame is at SP + 8, too.  */
        addl    $2, %eax
1:      ret
        end     drop_frame

        function outer_frame_pointer
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $48, %rsp
        call    drop_frame_pointer
        addl    $300, %eax
        leave
        .cfi_restore %rbp
        .cfi_def_cfa %rsp, 8
        ret
        end     outer_frame_pointer

        function drop_frame_pointer
        leal    (%rdi,%rdi,2), %eax
        testl   $1, %edi
        jnz     1f
        ret
1:      movq    %rbp, %rsp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        addl    $3, %eax
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        end     drop_frame_pointer

        function outer_two
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movl    %edi, %ebx
        call    middle
        addl    $400, %eax
        popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 8
        ret
        end     outer_two

        function middle
        subq    $40, %rsp
        .cfi_def_cfa_offset 48
        call    drop_two
        addl    $50, %eax
        addq    $40, %rsp
        .cfi_def_cfa_offset 8
        ret
        end     middle

        function drop_two
        leal    (%rdi,%rdi,2), %eax
        testl   $1, %edi
        jnz     1f
        ret
1:      addq    $56, %rsp
        .cfi_def_cfa_offset 0
        addl    $4, %eax
        popq    %rbx
        .cfi_def_cfa_offset 8
        ret
        end     drop_two

        function by_jump
        leal    (%rdi,%rdi,2), %eax
        popq    %rcx
        .cfi_def_cfa_offset 0
        addl    $5, %eax
        jmp     *%rcx
        end     by_jump

        function with_arguments
        pushq   %rdi
        .cfi_def_cfa_offset 16
        pushq   %rdi
        .cfi_def_cfa_offset 24
        call    pops_arguments
        .cfi_def_cfa_offset 8
        addl    $6, %eax
        ret
        end     with_arguments

        function pops_arguments
        movl    8(%rsp), %eax
        addl    16(%rsp), %eax
        addl    %edi, %eax
        ret     $16
        end     pops_arguments

#elif defined(__aarch64__)

        /* A frame with LR and nothing else.  */
        function outer_small
        str     x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x30, -16
        bl      drop_return
        add     w0, w0, #100
        ldr     x30, [sp], #16
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     outer_small

        /* LR still holds the address that is given up: the other one is read
           from below SP.  */
        function drop_return
        add     w1, w0, w0, lsl #1
        tbnz    w0, #0, 1f
        mov     w0, w1
        ret
1:      ldr     x16, [sp], #16
        .cfi_offset x30, -16
        add     w0, w1, #1
        ret     x16
        end     drop_return

        function outer_frame
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        bl      drop_frame
        add     w0, w0, #200
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     outer_frame

        function drop_frame
        add     w1, w0, w0, lsl #1
        tbz     w0, #0, 1f
        ldp     x29, x30, [sp], #32
        /* CFA and return address of outer_frame are in SP and LR, too.  */
        add     w1, w1, #2
1:      mov     w0, w1
        ret
        end     drop_frame

        function outer_frame_pointer
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        .cfi_def_cfa_register x29
        sub     sp, sp, #48
        bl      drop_frame_pointer
        add     w0, w0, #300
        mov     sp, x29
        .cfi_def_cfa_register sp
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     outer_frame_pointer

        function drop_frame_pointer
        add     w1, w0, w0, lsl #1
        tbnz    w0, #0, 1f
        mov     w0, w1
        ret
1:      mov     sp, x29
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        add     w0, w1, #3
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     drop_frame_pointer

        function outer_two
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str     x19, [sp, #16]
        .cfi_offset x19, -16
        mov     w19, w0
        bl      middle
        add     w0, w0, #400
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     outer_two

        function middle
        stp     x29, x30, [sp, #-48]!
        .cfi_def_cfa_offset 48
        .cfi_offset x29, -48
        .cfi_offset x30, -40
        bl      drop_two
        add     w0, w0, #50
        ldp     x29, x30, [sp], #48
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     middle

        function drop_two
        add     w1, w0, w0, lsl #1
        tbnz    w0, #0, 1f
        mov     w0, w1
        ret
1:      add     sp, sp, #48
        .cfi_offset x29, -48
        .cfi_offset x30, -40
        add     w0, w1, #4
        ldr     x19, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        ret
        end     drop_two

        function by_jump
        add     w0, w0, w0, lsl #1
        mov     x16, x30
        add     w0, w0, #5
        br      x16
        end     by_jump

        function with_arguments
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        stp     x0, x0, [sp, #-16]!
        .cfi_def_cfa_offset 32
        bl      pops_arguments
        add     sp, sp, #16
        .cfi_def_cfa_offset 16
        add     w0, w0, #6
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     with_arguments

        function pops_arguments
        ldp     x1, x2, [sp]
        add     w0, w0, w1
        add     w0, w0, w2
        ret
        end     pops_arguments

#elif defined(__s390x__)

        /* A register save area and nothing else.  */
        function outer_small
        stg     %r14, 112(%r15)
        .cfi_offset %r14, -48
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        brasl   %r14, drop_return
        ahi     %r2, 100
        aghi    %r15, 160
        .cfi_def_cfa_offset 160
        lg      %r14, 112(%r15)
        .cfi_restore %r14
        br      %r14
        end     outer_small

        /* r14 still holds the address that is given up: the other one is read
           from where outer_small has saved it.  */
        function drop_return
        lr      %r1, %r2
        msfi    %r2, 3
        tmll    %r1, 1
        jne     1f
        br      %r14
1:      aghi    %r15, 160
        .cfi_offset %r14, -48
        lg      %r1, 112(%r15)
        ahi     %r2, 1
        br      %r1
        end     drop_return

        function outer_frame
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -168
        .cfi_def_cfa_offset 328
        brasl   %r14, drop_frame
        ahi     %r2, 200
        lmg     %r14, %r15, 280(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     outer_frame

        function drop_frame
        lr      %r1, %r2
        msfi    %r2, 3
        tmll    %r1, 1
        je      1f
        lmg     %r14, %r15, 280(%r15)
        /* CFA and return address of outer_frame are where those of drop_frame
           were.  */
        ahi     %r2, 2
1:      br      %r14
        end     drop_frame

        function outer_frame_pointer
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        lgr     %r11, %r15
        .cfi_def_cfa_register %r11
        aghi    %r15, -48
        brasl   %r14, drop_frame_pointer
        ahi     %r2, 300
        lmg     %r11, %r15, 248(%r11)
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa %r15, 160
        br      %r14
        end     outer_frame_pointer

        function drop_frame_pointer
        lr      %r1, %r2
        msfi    %r2, 3
        tmll    %r1, 1
        jne     1f
        br      %r14
1:      lgr     %r15, %r11
        .cfi_def_cfa_offset 320
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        ahi     %r2, 3
        lmg     %r11, %r15, 248(%r15)
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     drop_frame_pointer

        function outer_two
        stmg    %r12, %r15, 96(%r15)
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -168
        .cfi_def_cfa_offset 328
        lgr     %r12, %r2
        brasl   %r14, middle
        ahi     %r2, 400
        lmg     %r12, %r15, 264(%r15)
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     outer_two

        function middle
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -176
        .cfi_def_cfa_offset 336
        brasl   %r14, drop_two
        ahi     %r2, 50
        lmg     %r14, %r15, 288(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     middle

        function drop_two
        lr      %r1, %r2
        msfi    %r2, 3
        tmll    %r1, 1
        jne     1f
        br      %r14
1:      aghi    %r15, 176
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        ahi     %r2, 4
        lmg     %r12, %r15, 264(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        br      %r14
        end     drop_two

        function by_jump
        msfi    %r2, 3
        lgr     %r1, %r14
        ahi     %r2, 5
        br      %r1
        end     by_jump

        function with_arguments
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -176
        .cfi_def_cfa_offset 336
        st      %r2, 160(%r15)
        st      %r2, 168(%r15)
        brasl   %r14, pops_arguments
        ahi     %r2, 6
        lmg     %r14, %r15, 288(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     with_arguments

        function pops_arguments
        a       %r2, 160(%r15)
        a       %r2, 168(%r15)
        br      %r14
        end     pops_arguments

#endif

        .section .note.GNU-stack, "", %progbits
