/* The other: its twin is discarded.  */
#include "functions.h"
        function_of 2, own_2, shared
        .section .text.shared, "axG", %progbits, shared, comdat
        .weak   shared
        .hidden shared
        body    4, shared
        .text
        static  3, last_2
