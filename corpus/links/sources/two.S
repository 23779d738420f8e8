#include "functions.h"
        function_of 2, two, two_inner
        static  3, two_inner
