#include "path.h"

struct bench_path *volatile bench_path;
