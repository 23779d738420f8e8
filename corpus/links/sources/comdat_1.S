/* One of two objects with the same function in a COMDAT group.  */
#include "functions.h"
        main_of shared, own_1, own_2
        function_of 1, own_1, shared
        .section .text.shared, "axG", %progbits, shared, comdat
        .weak   shared
        .hidden shared
        body    4, shared
