/* A section with nothing but its header.  */
#include "sframe.h"
#if SFRAME_VERSION == 1
#define FLAGS 0
#else
#define FLAGS 4
#endif
        sframe_section
        sframe_header FLAGS, 0, 0, 0, 0
        .section .note.GNU-stack, "", %progbits
