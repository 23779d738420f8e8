#define ONLY_MACROS
#include "frames.h"

        .section .note.GNU-stack, "", %progbits
        .text

        function lost
        frame
        nop
        end_frame
        returns
        end     lost
