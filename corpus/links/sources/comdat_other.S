/* Another version of the twin, with a frame of another size: what is kept has the rows of the first.  */
#include "functions.h"
        .section .text.shared, "axG", %progbits, shared, comdat
        .weak   shared
        .hidden shared
        body    5, shared
        .text
        function_of 2, own_2, shared
