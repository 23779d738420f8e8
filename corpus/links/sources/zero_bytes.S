/* A section of no bytes.  */
#include "sframe.h"
        sframe_section
        .section .note.GNU-stack, "", %progbits
