/* Functions that save FP, use it, and restore it, each by other instructions than compilers do.
   Everything is right.  */

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)

        /* 24 bytes below the return address. FP goes to 8(%rsp). */
        .macro  frame name
        function \name
        subq    $24, %rsp
        .cfi_def_cfa_offset 32
        .endm

        /* FP has been saved there, and is used. */
        .macro  use
        .cfi_offset %rbp, -24
        movl    $5, %ebp
        call    leaf
        .endm

        /* FP has been restored. */
        .macro  done name
        .cfi_restore %rbp
        nop
        addq    $24, %rsp
        .cfi_def_cfa_offset 8
        ret
        end     \name
        .endm

        .macro  load
        movq    8(%rsp), %rbp
        .endm

        function leaf
        movl    $5, %eax
        ret
        end     leaf

        function by_enter
        enter   $16, $0
        .cfi_def_cfa %rbp, 16
        .cfi_offset %rbp, -16
        call    leaf
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        end     by_enter

        function by_nested_enter
        enter   $16, $1
        .cfi_def_cfa %rbp, 16
        .cfi_offset %rbp, -16
        call    leaf
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        end     by_nested_enter

        frame   by_xchg
        xchgq   %rbp, 8(%rsp)
        use
        xchgq   %rbp, 8(%rsp)
        done    by_xchg

        frame   by_xchg_of_registers
        movq    %rbp, %rax
        movq    %rax, 8(%rsp)
        use
        movq    8(%rsp), %rcx
        xchgq   %rbp, %rcx
        done    by_xchg_of_registers

        frame   by_xmm
        movq    %rbp, %xmm0
        movq    %xmm0, 8(%rsp)
        use
        movq    8(%rsp), %xmm1
        movq    %xmm1, %rbp
        done    by_xmm

        frame   by_movups
        movq    %rbp, %xmm0
        movups  %xmm0, 8(%rsp)
        use
        movups  8(%rsp), %xmm1
        movq    %xmm1, %rbp
        done    by_movups

        frame   by_lodsq
        movq    %rbp, 8(%rsp)
        use
        leaq    8(%rsp), %rsi
        lodsq
        movq    %rax, %rbp
        done    by_lodsq

        frame   by_or
        movq    $0, 8(%rsp)
        orq     %rbp, 8(%rsp)
        use
        xorl    %ebp, %ebp
        movq    8(%rsp), %rax
        orq     %rax, %rbp
        done    by_or

        frame   by_xor
        movq    $0, 8(%rsp)
        xorq    %rbp, 8(%rsp)
        use
        xorl    %ebp, %ebp
        xorq    8(%rsp), %rbp
        done    by_xor

        /* What is added to a word that has FP is taken off again. */
        frame   by_a_sum
        movq    %rbp, 8(%rsp)
        movl    $64, %eax
        addq    %rax, 8(%rsp)
        subq    %rax, 8(%rsp)
        use
        load
        done    by_a_sum

        frame   by_movnti
        movnti  %rbp, 8(%rsp)
        use
        load
        done    by_movnti

        frame   by_stosq
        movq    %rbp, %rax
        leaq    8(%rsp), %rdi
        stosq
        use
        load
        done    by_stosq

        frame   by_add
        movq    $0, 8(%rsp)
        addq    %rbp, 8(%rsp)
        use
        xorl    %ebp, %ebp
        addq    8(%rsp), %rbp
        done    by_add

        frame   by_copies
        movq    %rbp, 16(%rsp)
        leaq    16(%rsp), %rsi
        leaq    8(%rsp), %rdi
        movsq
        use
        pushq   8(%rsp)
        .cfi_adjust_cfa_offset 8
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        done    by_copies

        frame   by_halves
        movq    %rbp, %rax
        movl    %eax, 8(%rsp)
        shrq    $32, %rax
        movl    %eax, 12(%rsp)
        use
        movl    12(%rsp), %ebp
        shlq    $32, %rbp
        movl    8(%rsp), %eax
        orq     %rax, %rbp
        done    by_halves

        frame   by_cmov
        movq    %rbp, 8(%rsp)
        use
        movq    8(%rsp), %rdx
        cmpl    %ebp, %ebp
        cmoveq  %rdx, %rbp
        done    by_cmov

        function main
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movl    $0x1234, %ebp
        call    by_enter
        call    by_nested_enter
        call    by_xchg
        call    by_xchg_of_registers
        call    by_xmm
        call    by_movups
        call    by_lodsq
        call    by_or
        call    by_xor
        call    by_a_sum
        call    by_movnti
        call    by_stosq
        call    by_add
        call    by_copies
        call    by_halves
        call    by_cmov
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        xorl    %eax, %eax
        ret
        end     main

#elif defined(__aarch64__)

        .arch   armv8.1-a

        /* 32 bytes. FP goes to [sp, 16], RA to [sp, 24]. */
        .macro  frame name
        function \name
        sub     sp, sp, #32
        .cfi_def_cfa_offset 32
        add     x9, sp, #16
        .endm

        /* FP and RA have been saved, and are used. */
        .macro  use
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, #5
        bl      leaf
        add     x9, sp, #16
        .endm

        /* Both have been restored. */
        .macro  done name
        .cfi_restore x29
        .cfi_restore x30
        nop
        add     sp, sp, #32
        .cfi_def_cfa_offset 0
        ret
        end     \name
        .endm

        .macro  save
        stp     x29, x30, [sp, #16]
        .endm

        .macro  load
        ldp     x29, x30, [sp, #16]
        .endm

        function leaf
        mov     x0, #5
        ret
        end     leaf

        frame   by_orr
        orr     x10, x29, x29
        str     x10, [sp, #16]
        str     x30, [sp, #24]
        use
        ldp     x10, x11, [sp, #16]
        mov     x29, #0
        orr     x29, x29, x10
        mov     x30, x11
        done    by_orr

        frame   by_eor
        mov     x10, #0
        eor     x10, x10, x29
        stp     x10, x30, [sp, #16]
        use
        ldp     x10, x30, [sp, #16]
        mov     x29, #0
        eor     x29, x29, x10
        done    by_eor

        frame   by_ldp_of_others
        save
        use
        ldp     x10, x11, [sp, #16]
        mov     x29, x10
        mov     x30, x11
        done    by_ldp_of_others

        frame   by_q
#if defined(__AARCH64EB__)
        fmov    d0, x30
        mov     v0.d[1], x29
        str     q0, [sp, #16]
        use
        ldr     q1, [sp, #16]
        mov     x29, v1.d[1]
        fmov    x30, d1
#else
        fmov    d0, x29
        mov     v0.d[1], x30
        str     q0, [sp, #16]
        use
        ldr     q1, [sp, #16]
        fmov    x29, d1
        mov     x30, v1.d[1]
#endif
        done    by_q

        frame   by_vectors
        fmov    d0, x29
        mov     v0.d[1], x30
        st1     {v0.2d}, [x9]
        use
        ld1     {v1.2d}, [x9]
        fmov    x29, d1
        mov     x30, v1.d[1]
        done    by_vectors

        frame   by_d
        fmov    d8, x29
        fmov    d9, x30
        stp     d8, d9, [sp, #16]
        use
        ldp     d0, d1, [sp, #16]
        fmov    x29, d0
        fmov    x30, d1
        done    by_d

        frame   by_stlr
        stlr    x29, [x9]
        str     x30, [sp, #24]
        use
        ldar    x29, [x9]
        ldr     x30, [sp, #24]
        done    by_stlr

        frame   by_swp
        str     x30, [sp, #24]
        str     xzr, [sp, #16]
        swp     x29, x29, [x9]
        use
        ldr     x30, [sp, #24]
        swp     x10, x29, [x9]
        done    by_swp

        frame   by_stxr
        str     x30, [sp, #24]
        ldxr    x10, [x9]
        stxr    w11, x29, [x9]
        use
        ldxr    x29, [x9]
        clrex
        ldr     x30, [sp, #24]
        done    by_stxr

        frame   by_stnp
        stnp    x29, x30, [sp, #16]
        use
        ldnp    x29, x30, [sp, #16]
        done    by_stnp

        frame   by_halves
        str     x30, [sp, #24]
        lsr     x10, x29, #32
#if defined(__AARCH64EB__)
        stp     w10, w29, [sp, #16]
        use
        ldp     w10, w29, [sp, #16]
#else
        stp     w29, w10, [sp, #16]
        use
        ldp     w29, w10, [sp, #16]
#endif
        bfi     x29, x10, #32, #32
        ldr     x30, [sp, #24]
        done    by_halves

        frame   by_csel
        save
        use
        ldr     x10, [sp, #16]
        cmp     x9, x9
        csel    x29, x10, x9, eq
        ldr     x30, [sp, #24]
        done    by_csel

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, #0x1234
        bl      by_orr
        bl      by_eor
        bl      by_ldp_of_others
        bl      by_q
        bl      by_vectors
        bl      by_d
        bl      by_stlr
        bl      by_swp
        bl      by_stxr
        bl      by_stnp
        bl      by_halves
        bl      by_csel
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        mov     x0, #0
        ret
        end     main

#elif defined(__s390x__)

        .machine z14

        /* 32 bytes above the callee's save area. FP goes to 160(%r15), RA to 168(%r15). */
        .macro  frame name
        function \name
        aghi    %r15, -192
        .cfi_def_cfa_offset 352
        .endm

        /* FP and RA have been saved, and are used. */
        .macro  use
        .cfi_offset %r11, -192
        .cfi_offset %r14, -184
        lghi    %r11, 5
        brasl   %r14, leaf
        .endm

        /* Both have been restored. */
        .macro  done name
        .cfi_restore %r11
        .cfi_restore %r14
        lghi    %r1, 0
        aghi    %r15, 192
        .cfi_def_cfa_offset 160
        br      %r14
        end     \name
        .endm

        .macro  save
        stg     %r11, 160(%r15)
        stg     %r14, 168(%r15)
        .endm

        function leaf
        lghi    %r2, 5
        br      %r14
        end     leaf

        frame   by_lg_and_lgr
        lgr     %r1, %r11
        stg     %r1, 160(%r15)
        stg     %r14, 168(%r15)
        use
        lg      %r1, 160(%r15)
        lgr     %r11, %r1
        lg      %r14, 168(%r15)
        done    by_lg_and_lgr

        frame   by_xg
        lghi    %r1, 0
        xgr     %r1, %r11
        stg     %r1, 160(%r15)
        stg     %r14, 168(%r15)
        use
        lghi    %r11, 0
        xg      %r11, 160(%r15)
        lg      %r14, 168(%r15)
        done    by_xg

        frame   by_xc_and_oc
        stg     %r11, 176(%r15)
        xc      160(8,%r15), 160(%r15)
        oc      160(8,%r15), 176(%r15)
        stg     %r14, 168(%r15)
        use
        lghi    %r11, 0
        og      %r11, 160(%r15)
        lg      %r14, 168(%r15)
        done    by_xc_and_oc

        frame   by_ag
        save
        use
        lghi    %r11, 0
        ag      %r11, 160(%r15)
        lg      %r14, 168(%r15)
        done    by_ag

        frame   by_mvc
        stg     %r11, 176(%r15)
        mvc     160(8,%r15), 176(%r15)
        stg     %r14, 168(%r15)
        use
        lg      %r11, 160(%r15)
        lg      %r14, 168(%r15)
        done    by_mvc

        frame   by_fprs
        ldgr    %f0, %r11
        std     %f0, 160(%r15)
        stg     %r14, 168(%r15)
        use
        ld      %f2, 160(%r15)
        lgdr    %r11, %f2
        lg      %r14, 168(%r15)
        done    by_fprs

        frame   by_vectors
        vlvgp   %v0, %r11, %r14
        vst     %v0, 160(%r15)
        use
        vl      %v1, 160(%r15)
        vlgvg   %r11, %v1, 0
        vlgvg   %r14, %v1, 1
        done    by_vectors

        frame   by_halves
        srlg    %r1, %r11, 32
        st      %r1, 160(%r15)
        st      %r11, 164(%r15)
        stg     %r14, 168(%r15)
        use
        llgf    %r11, 160(%r15)
        sllg    %r11, %r11, 32
        llgf    %r1, 164(%r15)
        ogr     %r11, %r1
        lg      %r14, 168(%r15)
        done    by_halves

        /* The pair of r10 and r11, at a multiple of 16. The pair's second register is FP. */
        function by_pair
        aghi    %r15, -192
        .cfi_def_cfa_offset 352
        stg     %r14, 176(%r15)
        lgr     %r3, %r10
        la      %r1, 167(%r15)
        nill    %r1, 0xfff0
        stpq    %r10, 0(%r1)
        lg      %r0, 8(%r1)
        stg     %r0, 184(%r15)
        .cfi_offset %r11, -168
        .cfi_offset %r14, -176
        lghi    %r11, 5
        brasl   %r14, leaf
        la      %r1, 167(%r15)
        nill    %r1, 0xfff0
        lpq     %r10, 0(%r1)
        .cfi_restore %r11
        lgr     %r10, %r3
        lg      %r14, 176(%r15)
        .cfi_restore %r14
        aghi    %r15, 192
        .cfi_def_cfa_offset 160
        br      %r14
        end     by_pair

        frame   by_locgr
        save
        use
        lg      %r1, 160(%r15)
        cgr     %r1, %r1
        locgre  %r11, %r1
        lg      %r14, 168(%r15)
        done    by_locgr

        function main
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        lghi    %r11, 0x1234
        brasl   %r14, by_lg_and_lgr
        brasl   %r14, by_xg
        brasl   %r14, by_xc_and_oc
        brasl   %r14, by_ag
        brasl   %r14, by_mvc
        brasl   %r14, by_fprs
        brasl   %r14, by_vectors
        brasl   %r14, by_halves
        brasl   %r14, by_pair
        brasl   %r14, by_locgr
        lghi    %r2, 0
        lmg     %r11, %r15, 248(%r15)
        .cfi_restore %r11
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     main

#endif

        .section .note.GNU-stack, "", %progbits
