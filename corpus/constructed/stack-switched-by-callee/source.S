/* `switch_stack` returns on another stack, as what makes segmented stacks grow does. Its caller goes on there, and comes
   back by its frame pointer.  */

#include "frames.h"

        .bss
        .balign 16
        .skip   4096
other_stack:
        .skip   512

        .text
        .type   switch_stack, %function
switch_stack:
#if defined(__x86_64__)
        popq    %rcx
        leaq    other_stack(%rip), %rsp
        jmp     *%rcx
#elif defined(__aarch64__)
        adrp    x1, other_stack
        add     x1, x1, :lo12:other_stack
        mov     sp, x1
        ret
#else
        larl    %r15, other_stack-160
        br      %r14
#endif
        .size   switch_stack, . - switch_stack

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

        .macro  functions name
        /* It calls from there.  */
        function calls_\name
        frame
        by_frame_pointer
        call_of switch_stack
        nop
        off     16
        nop
        call_of leaf
        nop
        off     -16
        by_stack_pointer
        end_frame
        returns
        end     calls_\name

        function stays_\name
        frame
        by_frame_pointer
        call_of switch_stack
        nop
        off     16
        nop
        nop
        off     -16
        by_stack_pointer
        end_frame
        returns
        end     stays_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        main_calls calls, stays
