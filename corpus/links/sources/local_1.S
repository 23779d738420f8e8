#include "functions.h"
        function_of 1, of_1, of_each
        static  3, of_each
