#include "runtime.h"

/* The canary where it is no part of thread storage.  */
uintptr_t __stack_chk_guard = 0x00c0ffee0badf00d;
