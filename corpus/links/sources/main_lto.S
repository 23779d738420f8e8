#include "functions.h"
        main_of two, of_lto
