#include "runtime.h"

NOIPA int bench_check(unsigned got, unsigned want)
{
    return got != want;
}
