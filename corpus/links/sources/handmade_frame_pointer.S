/* A section that assemblers do not write.  */
#include "handmade.h"
        handmade of_frame_pointer, 0x6
        .section .note.GNU-stack, "", %progbits
