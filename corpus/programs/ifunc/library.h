/* What the program has of its library.  */

#include "../runtime/runtime.h"

typedef unsigned (*Function)(unsigned);

unsigned chosen(unsigned x);
unsigned inner(unsigned x);
unsigned plain(unsigned x);
extern const Function chosen_pointer;
