/* What AddressSanitizer notices, where the bench sees it.  */

#ifndef SANITIZER_H
#define SANITIZER_H

/* From now on the last lines on standard error say what was read or written
   that may not be, and where in the library: the bench quotes the end of what
   is there, and the sanitizer's own report ends with other things.  Without the
   sanitizer, does nothing.  */
void report_memory_errors (void);

#endif
