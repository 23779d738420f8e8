/* Return thunks that keep the processor from predicting a return: a call skips a trap, and what it has led to removes
   the call's return address and returns for the thunk's caller. Where it has led to a function, as in `parts`, the frame
   may be described until then as that of the callee, or as the thunk's, whose return address is one word further up. In
   `whole`, there is one function, and only the second is right: `unmoved` has the rows of one whose CFI forgets the
   call.  */

#include "frames.h"

        .macro  user thunk, name
        function \name
        frame
        end_frame
        goto    \thunk
        end     \name
        .endm

        .macro  functions name
        function whole_\name
        call    1f
        int3
1:
        .cfi_def_cfa %rsp, 16
        off     16
        leaq    8(%rsp), %rsp
        .cfi_def_cfa %rsp, 8
        ret
        int3
        end     whole_\name

        function unmoved_\name
        call    1f
        int3
1:
        off     16
        leaq    8(%rsp), %rsp
        off     -16
        .cfi_def_cfa %rsp, 8
        ret
        int3
        end     unmoved_\name

        function parts_\name
        call    safe_\name
        int3
        end     parts_\name
        function safe_\name
        off     16
        leaq    8(%rsp), %rsp
        off     -16
        ret
        int3
        end     safe_\name

        function moved_\name
        call    moved_safe_\name
        int3
        end     moved_\name
        function moved_safe_\name
        .cfi_def_cfa %rsp, 16
        off     16
        leaq    8(%rsp), %rsp
        .cfi_def_cfa %rsp, 8
        ret
        int3
        end     moved_safe_\name

        user    whole_\name, whole_user_\name
        user    unmoved_\name, unmoved_user_\name
        user    parts_\name, parts_user_\name
        user    moved_\name, moved_user_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        main_calls whole_user, unmoved_user, parts_user, moved_user
