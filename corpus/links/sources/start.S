/* The entry point.  */
#include "runtime/start.S"
