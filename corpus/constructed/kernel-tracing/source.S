/* Functions that a kernel traces, and calls that it unsets, by patching: each is right in one form only, or in both.  */

#define ONLY_MACROS
#include "frames.h"

        .section .modinfo, "a", %progbits
        .asciz  "license=GPL"

        /* What traces: any other file defines it.  */
        .data
        .quad   __fentry__

        .text
        function helper
        zero
        returns
        end     helper

#if defined(__x86_64__)

        .macro  site
        .pushsection __mcount_loc, "a", %progbits
        .quad   1f
        .popsection
1:      .byte   0x0f, 0x1f, 0x44, 0x00, 0x00
        .endm

        function traced_right
        site
        frame
        call_of helper
        end_frame
        returns
        end     traced_right

        /* A call of the tracer overwrites what is below SP.  */
        function traced_wrong
        movq    %rbp, -8(%rsp)
        .cfi_offset %rbp, -16
        site
        zero
        movq    -8(%rsp), %rbp
        .cfi_restore %rbp
        returns
        end     traced_wrong

        /* A call that never returns is patched to nothing.  */
        .macro  calls_static form
        function unset_\form
        frame
1:      .byte   0xe8
        .long   abort - . - 4
        off     8
        zero
        off     -8
        end_frame
        returns
        end     unset_\form
        .pushsection .static_call_sites, "aw", %progbits
        .long   1b - ., helper - .
        .popsection
        .endm

        calls_static right
        .set    wrong, 1
        calls_static wrong

#elif defined(__aarch64__)

        .macro  site
        .pushsection __patchable_function_entries, "aw", %progbits
        .balign 8
        .quad   1f
        .popsection
1:      nop
        nop
        .endm

        function traced_right
        hint    #34
        site
        frame
        call_of helper
        end_frame
        returns
        end     traced_right

        function traced_leaf
        site
        zero
        returns
        end     traced_leaf

#elif defined(__s390x__)

        .macro  site
        .pushsection __mcount_loc, "a", %progbits
        .quad   1f
        .popsection
1:      brcl    0, 0
        .endm

        function traced_right
        site
        frame
        call_of helper
        end_frame
        returns
        end     traced_right

        /* A call of the tracer leaves its return address in r0.  */
        function traced_wrong
        lgr     %r0, %r14
        .cfi_register %r14, %r0
        site
        zero
        .cfi_restore %r14
        returns
        end     traced_wrong

#endif

        .section .note.GNU-stack, "", %progbits
