/* bench_setjmp and bench_longjmp, and what shows that they keep every register
   that a callee has to keep:

     bench_setjmp       saves the context of its caller, and returns 0
     bench_longjmp      returns from that call once more, with another value
     jump_frameless     jumps to bench_longjmp: no frame of its own, no return
     saved_registers    fills the registers, and looks at them after a jump
     scramble           fills them with something else, and jumps

   bench_longjmp keeps its caller's frame pointer on the stack, so that its own
   frame can be described up to the instruction that sets SP. Behind that one
   no rule is right: the branch has no call frame information.  */

        .file   "long_jump.S"

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)

        function bench_setjmp
        movq    %rbx, (%rdi)
        movq    %rbp, 8(%rdi)
        movq    %r12, 16(%rdi)
        movq    %r13, 24(%rdi)
        movq    %r14, 32(%rdi)
        movq    %r15, 40(%rdi)
        leaq    8(%rsp), %rdx
        movq    %rdx, 48(%rdi)
        movq    (%rsp), %rdx
        movq    %rdx, 56(%rdi)
        xorl    %eax, %eax
        ret
        end     bench_setjmp

        function jump_frameless
        addl    $1, %esi
        jmp     bench_longjmp
        end     jump_frameless

        function bench_longjmp
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movl    %esi, %eax
        movq    (%rdi), %rbx
        movq    8(%rdi), %rbp
        movq    16(%rdi), %r12
        movq    24(%rdi), %r13
        movq    32(%rdi), %r14
        movq    40(%rdi), %r15
        movq    48(%rdi), %rsp
        uncovered
        jmp     *56(%rdi)
        end_uncovered bench_longjmp

        function saved_registers
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
        pushq   %rdi
        .cfi_def_cfa_offset 64
        movl    $1, %ebx
        movl    $2, %ebp
        movl    $3, %r12d
        movl    $4, %r13d
        movl    $5, %r14d
        movl    $6, %r15d
        call    bench_setjmp
        testl   %eax, %eax
        jnz     1f
        movq    (%rsp), %rdi
        call    scramble
1:      xorq    $1, %rbx
        xorq    $2, %rbp
        xorq    $3, %r12
        xorq    $4, %r13
        xorq    $5, %r14
        xorq    $6, %r15
        orq     %rbp, %rbx
        orq     %r12, %rbx
        orq     %r13, %rbx
        orq     %r14, %rbx
        orq     %r15, %rbx
        setne   %al
        movzbl  %al, %eax
        popq    %rdi
        .cfi_def_cfa_offset 56
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
        end     saved_registers

        /* The other registers are lost: the frame to jump to has them.  */
        function scramble
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        .irp    register, rbx, r12, r13, r14, r15
        .cfi_undefined %\register
        .endr
        .irp    register, rbx, rbp, r12, r13, r14, r15
        movq    $-1, %\register
        .endr
        movl    $1, %esi
        call    bench_longjmp
        end     scramble

#elif defined(__aarch64__)

        function bench_setjmp
        stp     x19, x20, [x0]
        stp     x21, x22, [x0, #16]
        stp     x23, x24, [x0, #32]
        stp     x25, x26, [x0, #48]
        stp     x27, x28, [x0, #64]
        stp     x29, x30, [x0, #80]
        stp     d8, d9, [x0, #96]
        stp     d10, d11, [x0, #112]
        stp     d12, d13, [x0, #128]
        stp     d14, d15, [x0, #144]
        mov     x2, sp
        str     x2, [x0, #160]
        mov     w0, #0
        ret
        end     bench_setjmp

        function jump_frameless
        add     w1, w1, #1
        b       bench_longjmp
        end     jump_frameless

        function bench_longjmp
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        ldp     x19, x20, [x0]
        ldp     x21, x22, [x0, #16]
        ldp     x23, x24, [x0, #32]
        ldp     x25, x26, [x0, #48]
        ldp     x27, x28, [x0, #64]
        ldp     x29, x30, [x0, #80]
        ldp     d8, d9, [x0, #96]
        ldp     d10, d11, [x0, #112]
        ldp     d12, d13, [x0, #128]
        ldp     d14, d15, [x0, #144]
        ldr     x2, [x0, #160]
        mov     w0, w1
        mov     sp, x2
        uncovered
        ret
        end_uncovered bench_longjmp

        function saved_registers
        stp     x29, x30, [sp, #-176]!
        .cfi_def_cfa_offset 176
        .cfi_offset x29, -176
        .cfi_offset x30, -168
        stp     x19, x20, [sp, #16]
        .cfi_offset x19, -160
        .cfi_offset x20, -152
        stp     x21, x22, [sp, #32]
        .cfi_offset x21, -144
        .cfi_offset x22, -136
        stp     x23, x24, [sp, #48]
        .cfi_offset x23, -128
        .cfi_offset x24, -120
        stp     x25, x26, [sp, #64]
        .cfi_offset x25, -112
        .cfi_offset x26, -104
        stp     x27, x28, [sp, #80]
        .cfi_offset x27, -96
        .cfi_offset x28, -88
        stp     d8, d9, [sp, #96]
        .cfi_offset d8, -80
        .cfi_offset d9, -72
        stp     d10, d11, [sp, #112]
        .cfi_offset d10, -64
        .cfi_offset d11, -56
        stp     d12, d13, [sp, #128]
        .cfi_offset d12, -48
        .cfi_offset d13, -40
        stp     d14, d15, [sp, #144]
        .cfi_offset d14, -32
        .cfi_offset d15, -24
        str     x0, [sp, #160]
        .irp    number, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
        mov     x\number, #\number
        .endr
        .irp    number, 8, 9, 10, 11, 12, 13, 14, 15
        fmov    d\number, #\number
        .endr
        bl      bench_setjmp
        cbnz    w0, 1f
        ldr     x0, [sp, #160]
        bl      scramble
1:      mov     x0, #0
        .irp    number, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
        sub     x1, x\number, #\number
        orr     x0, x0, x1
        .endr
        .irp    number, 8, 9, 10, 11, 12, 13, 14, 15
        fmov    d0, #\number
        fmov    x1, d0
        fmov    x2, d\number
        sub     x1, x1, x2
        orr     x0, x0, x1
        .endr
        cmp     x0, #0
        cset    w0, ne
        ldp     d14, d15, [sp, #144]
        .cfi_restore d14
        .cfi_restore d15
        ldp     d12, d13, [sp, #128]
        .cfi_restore d12
        .cfi_restore d13
        ldp     d10, d11, [sp, #112]
        .cfi_restore d10
        .cfi_restore d11
        ldp     d8, d9, [sp, #96]
        .cfi_restore d8
        .cfi_restore d9
        ldp     x27, x28, [sp, #80]
        .cfi_restore x27
        .cfi_restore x28
        ldp     x25, x26, [sp, #64]
        .cfi_restore x25
        .cfi_restore x26
        ldp     x23, x24, [sp, #48]
        .cfi_restore x23
        .cfi_restore x24
        ldp     x21, x22, [sp, #32]
        .cfi_restore x21
        .cfi_restore x22
        ldp     x19, x20, [sp, #16]
        .cfi_restore x19
        .cfi_restore x20
        ldp     x29, x30, [sp], #176
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     saved_registers

        /* The other registers are lost: the frame to jump to has them.  */
        function scramble
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        .irp    number, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28
        .cfi_undefined x\number
        .endr
        .irp    number, 8, 9, 10, 11, 12, 13, 14, 15
        .cfi_undefined d\number
        .endr
        .irp    number, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
        mov     x\number, #-1
        .endr
        .irp    number, 8, 9, 10, 11, 12, 13, 14, 15
        fmov    d\number, x19
        .endr
        mov     w1, #1
        bl      bench_longjmp
        end     scramble

#elif defined(__s390x__)

        function bench_setjmp
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
        end     bench_setjmp

        function jump_frameless
        ahi     %r3, 1
        jg      bench_longjmp
        end     jump_frameless

        /* One instruction sets SP and everything else.  */
        function bench_longjmp
        ld      %f8, 80(%r2)
        ld      %f9, 88(%r2)
        ld      %f10, 96(%r2)
        ld      %f11, 104(%r2)
        ld      %f12, 112(%r2)
        ld      %f13, 120(%r2)
        ld      %f14, 128(%r2)
        ld      %f15, 136(%r2)
        lgr     %r1, %r2
        lgfr    %r2, %r3
        lmg     %r6, %r15, 0(%r1)
        uncovered
        br      %r14
        end_uncovered bench_longjmp

        .macro  save_general
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
        .endm

        function saved_registers
        save_general
        aghi    %r15, -232
        .cfi_def_cfa_offset 392
        .irp    number, 8, 9, 10, 11, 12, 13, 14, 15
        std     %f\number, 160 + 8 * (\number - 8)(%r15)
        .cfi_offset %f\number, 8 * (\number - 8) - 232
        .endr
        stg     %r2, 224(%r15)
        .irp    number, 6, 7, 8, 9, 10, 11, 12, 13
        lghi    %r\number, \number
        .endr
        .irp    number, 8, 9, 10, 11, 12, 13, 14, 15
        lghi    %r1, \number
        ldgr    %f\number, %r1
        .endr
        brasl   %r14, bench_setjmp
        ltr     %r2, %r2
        jne     1f
        lg      %r2, 224(%r15)
        brasl   %r14, scramble
1:      lghi    %r2, 0
        .irp    number, 6, 7, 8, 9, 10, 11, 12, 13
        aghi    %r\number, -\number
        ogr     %r2, %r\number
        .endr
        .irp    number, 8, 9, 10, 11, 12, 13, 14, 15
        lgdr    %r1, %f\number
        aghi    %r1, -\number
        ogr     %r2, %r1
        .endr
        ltgr    %r2, %r2
        je      1f
        lghi    %r2, 1
1:
        .irp    number, 8, 9, 10, 11, 12, 13, 14, 15
        ld      %f\number, 160 + 8 * (\number - 8)(%r15)
        .cfi_restore %f\number
        .endr
        lmg     %r6, %r15, 280(%r15)
        .irp    number, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        .cfi_restore %r\number
        .endr
        .cfi_def_cfa_offset 160
        br      %r14
        end     saved_registers

        /* The floating-point registers are lost: the frame to jump to has
           them.  */
        function scramble
        save_general
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        .irp    number, 8, 9, 10, 11, 12, 13, 14, 15
        .cfi_undefined %f\number
        .endr
        .irp    number, 6, 7, 8, 9, 10, 11, 12, 13
        lghi    %r\number, -1
        .endr
        .irp    number, 8, 9, 10, 11, 12, 13, 14, 15
        ldgr    %f\number, %r6
        .endr
        lghi    %r3, 1
        brasl   %r14, bench_longjmp
        end     scramble

#endif

        .section .note.GNU-stack, "", %progbits
