#include "functions.h"
        function_of 2, of_2, of_each
        static  4, of_each
