#include "functions.h"
        main_of of_aux
