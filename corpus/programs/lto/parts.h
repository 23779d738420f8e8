#include "../runtime/runtime.h"

unsigned leaf(unsigned x);

/* Small, and called from the other source: inlined there.  */
unsigned inlined(unsigned x);
unsigned chain_one(unsigned x);
unsigned chain_two(unsigned x);

/* Stays as it is.  */
unsigned kept(unsigned x, unsigned (*function)(unsigned));
