/* Calls a library's functions through its PLT.  */
#include "functions.h"
#if defined(__x86_64__)
        main_of library_1@plt, library_2@plt
#elif defined(__s390x__)
        main_of library_1@PLT, library_2@PLT
#else
        main_of library_1, library_2
#endif
