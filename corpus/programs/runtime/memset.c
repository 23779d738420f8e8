#include "runtime.h"

/* The barrier keeps the compiler from recognising the loop as a call of the
   very function that it implements.  */

NOIPA void *memset(void *target, int value, size_t size)
{
    unsigned char *to = target;

    for (size_t i = 0; i < size; i++) {
        to[i] = (unsigned char)value;
        BARRIER();
    }
    return target;
}
