/* Reports what AddressSanitizer notices where the bench sees it.  */

#ifndef SANITIZER_H
#define SANITIZER_H

/* From now on the last lines on standard error give the invalid access and its
   place in the library: the bench quotes the end of standard error, and the
   sanitizer's own report ends with other information.  Does nothing without the
   sanitizer.  */
void report_memory_errors (void);

#endif
