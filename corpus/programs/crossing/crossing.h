/* What the program and its two libraries have of each other.  */

#ifndef CROSSING_H
#define CROSSING_H

#include "../runtime/runtime.h"

typedef unsigned (*Function)(unsigned);

/* Of the first library.  Where code is not position-independent, the program
   takes the variable over: the library must find it there.  */
extern unsigned first_state;
unsigned first_leaf(unsigned x);
unsigned first_mix(unsigned x);
unsigned first_tail(unsigned x);
unsigned first_descend(unsigned levels, unsigned x);
Function first_address(void);

/* Of the second.  */
extern const Function second_table[3];
unsigned second_leaf(unsigned x);
unsigned second_apply(Function function, unsigned x);
unsigned second_descend(unsigned levels, unsigned x);

/* Of the program.  */
unsigned program_leaf(unsigned x);
unsigned program_descend(unsigned levels, unsigned x);

#endif
