/* Functions of a kernel, which layout.S puts into the upper half.  */

#define ONLY_MACROS
#include "frames.h"

        .text
        .globl  _start
_start:
        function helper
        zero
        returns
        end     helper

        .macro  calls_helper name
        function \name
        frame
        off     8
        call_of helper
        off     -8
        end_frame
        returns
        end     \name
        .endm

        calls_helper is_right
        .set    wrong, 1
        calls_helper is_wrong
