#include "functions.h"
        main_of of_other_ra
