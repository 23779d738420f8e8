#include "functions.h"
        function_of 5, many_5, many_5_inner
        static  6, many_5_inner
