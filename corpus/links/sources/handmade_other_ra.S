/* A section that assemblers do not write.  */
#include "handmade.h"
        handmade of_other_ra, 0x4, 0, -16, 1
        .section .note.GNU-stack, "", %progbits
