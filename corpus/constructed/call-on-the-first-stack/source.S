/* Code with a stack of its own loads SP for the stack that it has come from, and calls from there, as OCaml's does to call C.
   It has not been left: it goes on when its callee has returned.  */

#include "frames.h"

        .bss
        .balign 16
        .skip   4096
other_stack:
        .skip   512
first_sp:
        .skip   8
first_fp:
        .skip   8

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


        .macro  to_other_stack
#if defined(__x86_64__)
        movq    %rsp, first_sp(%rip)
        leaq    other_stack(%rip), %rsp
#elif defined(__aarch64__)
        adrp    x1, first_sp
        add     x1, x1, :lo12:first_sp
        mov     x2, sp
        str     x2, [x1]
        adrp    x1, other_stack
        add     x1, x1, :lo12:other_stack
        mov     sp, x1
#else
        larl    %r1, first_sp
        stg     %r15, 0(%r1)
        larl    %r15, other_stack-160
#endif
        .endm

        .macro  to_first_stack
#if defined(__x86_64__)
        movq    first_sp(%rip), %rsp
#elif defined(__aarch64__)
        adrp    x1, first_sp
        add     x1, x1, :lo12:first_sp
        ldr     x2, [x1]
        mov     sp, x2
#else
        larl    %r1, first_sp
        lg      %r15, 0(%r1)
#endif
        .endm

        .macro  save_frame_pointer
#if defined(__x86_64__)
        movq    %rbp, first_fp(%rip)
#elif defined(__aarch64__)
        adrp    x1, first_fp
        add     x1, x1, :lo12:first_fp
        str     x29, [x1]
#else
        stgrl   %r11, first_fp
#endif
        .endm

        /* To a label in the frame that has saved SP and FP.  */
        .macro  land_at label
#if defined(__x86_64__)
        leaq    \label(%rip), %rax
        movq    first_fp(%rip), %rbp
        movq    first_sp(%rip), %rsp
        jmp     *%rax
#elif defined(__aarch64__)
        adr     x3, \label
        adrp    x1, first_fp
        add     x1, x1, :lo12:first_fp
        ldr     x29, [x1]
        to_first_stack
        br      x3
#else
        larl    %r3, \label
        lgrl    %r11, first_fp
        lgrl    %r15, first_sp
        br      %r3
#endif
        .endm

        /* Says that what has been saved is where it was at first: RA on s390x, FP elsewhere.  */
        .macro  forget
        .if     wrong
#if defined(__x86_64__)
        .cfi_restore %rbp
#elif defined(__aarch64__)
        .cfi_restore x29
#else
        .cfi_restore %r14
#endif
        .endif
        .endm

        .macro  remember
#if defined(__x86_64__)
        .cfi_offset %rbp, -16
#elif defined(__aarch64__)
        .cfi_offset x29, -16
#else
        .cfi_offset %r14, -48
#endif
        .endm

        /* Goes to the other stack, and calls a function there.  */
        .macro  goes function
        function goes_\function
        frame
        by_frame_pointer
        save_frame_pointer
        to_other_stack
        call_of \function
        to_first_stack
landing_\function:
        nop
        by_stack_pointer
        end_frame
        returns
        end     goes_\function
        .endm

        .macro  functions name
        goes    calls_\name
        goes    comes_back_\name
        goes    jumps_\name
        goes    forgets_\name
        goes    throws_\name

        /* It calls from there.  */
        function calls_\name
        frame
        by_frame_pointer
        to_first_stack
        off     16
        call_of leaf
        nop
        call_of leaf
        off     -16
        by_stack_pointer
        end_frame
        returns
        end     calls_\name

        /* It calls nobody.  */
        function comes_back_\name
        frame
        by_frame_pointer
        to_first_stack
        nop
        by_stack_pointer
        nop
        off     16
        nop
        off     -16
        end_frame
        returns
        end     comes_back_\name

        /* Another function calls that it has jumped to.  */
        function jumps_\name
        nop
        goto    jumped_to_\name
        end     jumps_\name

        function jumped_to_\name
        frame
        by_frame_pointer
        to_first_stack
        off     16
        call_of leaf
        nop
        off     -16
        by_stack_pointer
        end_frame
        returns
        end     jumped_to_\name

        /* No walk goes on from its frame, since the stack does so at lower addresses.  */
        function forgets_\name
        frame
        by_frame_pointer
        to_first_stack
        call_of leaf
        forget
        nop
        call_of leaf
        remember
        by_stack_pointer
        end_frame
        returns
        end     forgets_\name

        /* What it calls lands in the frame on the first stack.  */
        function throws_\name
        frame
        by_frame_pointer
        to_first_stack
        off     16
        call_of thrower_\name
        off     -16
        by_stack_pointer
        end_frame
        returns
        end     throws_\name

        function thrower_\name
        nop
        uncovered
        land_at landing_throws_\name
        end_uncovered thrower_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        main_calls goes_calls, goes_comes_back, goes_jumps, goes_forgets, goes_throws
