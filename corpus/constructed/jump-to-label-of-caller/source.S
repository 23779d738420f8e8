/* Callees that don't return to where they were called from, but to a label of their caller: by a jump, by the return of
   another function in their place, and with the return address left on the stack.  */

#include "frames.h"

        .macro  functions name
        function jumps_\name
        nop
#if defined(__x86_64__)
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
#endif
        goto    .Lfailed_\name
        end     jumps_\name

        function jumped_\name
        frame
        call_of jumps_\name
        nop
.Lfailed_\name:
        nop
        off     16
        call_of leaf
        nop
        off     -16
        end_frame
        returns
        end     jumped_\name

        function leads_back_\name
#if defined(__x86_64__)
        leaq    .Lback_\name(%rip), %rax
        movq    %rax, (%rsp)
#elif defined(__aarch64__)
        adr     x30, .Lback_\name
#else
        larl    %r14, .Lback_\name
#endif
        goto    goes_on_\name
        end     leads_back_\name

        function goes_on_\name
        frame
        off     16
        nop
        call_of leaf
        off     -16
        end_frame
        returns
        end     goes_on_\name

        function led_back_\name
        frame
        call_of leads_back_\name
        nop
        nop
.Lback_\name:
        nop
        nop
        end_frame
        returns
        end     led_back_\name

#if defined(__x86_64__)
        function keeps_address_\name
        nop
        jmp     *(%rsp)
        end     keeps_address_\name

        function kept_address_\name
        call    keeps_address_\name
        .cfi_adjust_cfa_offset 8
        off     16
        nop
        call    leaf
        off     -16
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        end     kept_address_\name
#endif
        .endm

        functions right
        .set    wrong, 1
        functions wrong

#if defined(__x86_64__)
        main_calls jumped, led_back, kept_address
#else
        main_calls jumped, led_back
#endif
