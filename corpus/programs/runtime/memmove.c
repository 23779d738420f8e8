#include "runtime.h"

/* The barrier keeps the compiler from recognising the loop as a call of the
   very function that it implements.  */

NOIPA void *memmove(void *target, const void *source, size_t size)
{
    unsigned char *to = target;
    const unsigned char *from = source;

    if ((uintptr_t)to <= (uintptr_t)from) {
        for (size_t i = 0; i < size; i++) {
            to[i] = from[i];
            BARRIER();
        }
    } else {
        for (size_t i = size; i > 0; i--) {
            to[i - 1] = from[i - 1];
            BARRIER();
        }
    }
    return target;
}
