/* A section that assemblers do not write.  */
#include "handmade.h"
        handmade of_aux, 0x4, 4
        .section .note.GNU-stack, "", %progbits
