/* A function has the SP of another stack in a local variable, loads it by FP, and begins a context there. Until it has jumped,
   its rows are by FP, and are those of its own frame.  */

#include "frames.h"

        .bss
        .balign 16
        .skip   4096
other_stack:
        .skip   512
saved:  .skip   16

        .text
        .macro  by_frame_pointer
#if defined(__x86_64__)
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
#elif defined(__aarch64__)
        mov     x29, sp
        .cfi_def_cfa_register x29
#else
        lgr     %r11, %r15
        .cfi_def_cfa_register %r11
#endif
        .endm

        .macro  by_stack_pointer
#if defined(__x86_64__)
        movq    %rbp, %rsp
        .cfi_def_cfa_register %rsp
#elif defined(__aarch64__)
        mov     sp, x29
        .cfi_def_cfa_register sp
#else
        lgr     %r15, %r11
        .cfi_def_cfa_register %r15
#endif
        .endm



        .type   finish, %function
finish:
#if defined(__x86_64__)
        leaq    saved(%rip), %rcx
        movq    8(%rcx), %rbp
        movq    (%rcx), %rsp
        jmp     *%rbx
#elif defined(__aarch64__)
        adrp    x1, saved
        add     x1, x1, :lo12:saved
        ldp     x2, x29, [x1]
        mov     sp, x2
        br      x19
#else
        larl    %r1, saved
        lg      %r11, 8(%r1)
        lg      %r15, 0(%r1)
        br      %r9
#endif
        .size   finish, . - finish

        .macro  functions name
        function starts_\name
        frame   32
        by_frame_pointer
#if defined(__x86_64__)
        leaq    saved(%rip), %rcx
        movq    %rsp, (%rcx)
        movq    %rbp, 8(%rcx)
        leaq    other_stack(%rip), %rax
        movq    %rax, (%rbp)
        leaq    body_\name(%rip), %rax
        leaq    1f(%rip), %rbx
        movq    (%rbp), %rsp
        off     16
        nop
        nop
        off     -16
        jmp     *%rax
#elif defined(__aarch64__)
        adrp    x1, saved
        add     x1, x1, :lo12:saved
        mov     x2, sp
        stp     x2, x29, [x1]
        adrp    x1, other_stack
        add     x1, x1, :lo12:other_stack
        str     x1, [x29, #16]
        adr     x0, body_\name
        adr     x19, 1f
        ldr     x2, [x29, #16]
        mov     sp, x2
        off     16
        nop
        nop
        off     -16
        br      x0
#else
        larl    %r1, saved
        stg     %r15, 0(%r1)
        stg     %r11, 8(%r1)
        larl    %r1, other_stack-160
        stg     %r1, 160(%r11)
        larl    %r2, body_\name
        larl    %r9, 1f
        lg      %r15, 160(%r11)
        off     16
        nop
        nop
        off     -16
        br      %r2
#endif
1:      nop
        by_stack_pointer
        end_frame 32
        returns
        end     starts_\name

        function body_\name
#if defined(__x86_64__)
        .cfi_undefined %rip
#elif defined(__aarch64__)
        .cfi_undefined x30
#else
        .cfi_undefined %r14
#endif
        nop
        call_of leaf
        nop
        goto    finish
        end     body_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        main_calls starts
