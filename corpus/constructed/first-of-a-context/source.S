/* `begin` starts a context of the program's own, on another stack, in a function that nobody has called: it has no caller
   to compare, and `finish` leaves it.  */

#include "frames.h"

        .bss
        .balign 16
        .skip   4096
other_stack:
        .skip   512
saved:  .skip   24

        .text
        .type   begin, %function
begin:
#if defined(__x86_64__)
        leaq    saved(%rip), %rcx
        popq    (%rcx)
        movq    %rsp, 8(%rcx)
        movq    %rbp, 16(%rcx)
        leaq    other_stack(%rip), %rsp
        pushq   $0
        jmp     *%rax
#elif defined(__aarch64__)
        adrp    x1, saved
        add     x1, x1, :lo12:saved
        mov     x2, sp
        stp     x30, x2, [x1]
        str     x29, [x1, #16]
        adrp    x1, other_stack
        add     x1, x1, :lo12:other_stack
        mov     sp, x1
        mov     x30, #0
        br      x0
#else
        larl    %r1, saved
        stmg    %r14, %r15, 0(%r1)
        stg     %r11, 16(%r1)
        larl    %r15, other_stack-160
        lghi    %r14, 0
        br      %r2
#endif
        .size   begin, . - begin

        .type   finish, %function
finish:
#if defined(__x86_64__)
        leaq    saved(%rip), %rcx
        movq    16(%rcx), %rbp
        movq    8(%rcx), %rsp
        jmp     *(%rcx)
#elif defined(__aarch64__)
        adrp    x1, saved
        add     x1, x1, :lo12:saved
        ldp     x30, x2, [x1]
        ldr     x29, [x1, #16]
        mov     sp, x2
        ret
#else
        larl    %r1, saved
        lg      %r11, 16(%r1)
        lmg     %r14, %r15, 0(%r1)
        br      %r14
#endif
        .size   finish, . - finish

        .macro  begins function
#if defined(__x86_64__)
        leaq    \function(%rip), %rax
#elif defined(__aarch64__)
        adr     x0, \function
#else
        larl    %r2, \function
#endif
        call_of begin
        .endm

        .macro  functions name
        function first_\name
        nop
        off     16
        nop
        nop
        off     -16
        goto    finish
        end     first_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        function main
        frame
        begins  first_right
        begins  first_wrong
        zero
        end_frame
        returns
        end     main
