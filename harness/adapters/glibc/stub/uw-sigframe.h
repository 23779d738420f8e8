/* In place of uw-sigframe.h: those of both ABIs, unchanged, to choose from.  */

#include <x86_64/uw-sigframe.h>
#undef MD_DECODE_SIGNAL_FRAME
#undef MD_DETECT_OUTERMOST_FRAME
#define mcontext_t struct stub_aarch64_mcontext
#define __AARCH64EL__
#include <aarch64/uw-sigframe.h>
#undef __AARCH64EL__
#undef mcontext_t
#undef MD_DECODE_SIGNAL_FRAME
#undef MD_DETECT_OUTERMOST_FRAME
#define MD_DECODE_SIGNAL_FRAME stub_decode_signal_frame
#define MD_DETECT_OUTERMOST_FRAME stub_detect_outermost_frame
