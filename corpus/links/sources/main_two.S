#include "functions.h"
        main_of two, one
        function_of 1, one
