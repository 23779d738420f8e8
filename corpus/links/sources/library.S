/* A library's functions.  */
#include "functions.h"
        exported 1, library_1, library_inner
        exported 2, library_2
        static  3, library_inner
