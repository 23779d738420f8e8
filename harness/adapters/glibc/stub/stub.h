/* What glibc's reader takes from the rest of glibc, and from its process.  */

#ifndef STUB_H
#define STUB_H

#include <stdint.h>
#include <signal.h>
#include <sys/ucontext.h>
#include <unwind.h>

#define libc_hidden_proto(name)
#define libc_hidden_def(name)

struct cframe;

_Unwind_Ptr read_stack_value (_Unwind_Ptr);
_Unwind_Reason_Code stub_decode_signal_frame (struct cframe *);
_Unwind_Reason_Code stub_detect_outermost_frame (struct cframe *);

/* The frame of a signal on aarch64, as Linux lays it out, as far as glibc reads
   it.  */
struct stub_aarch64_mcontext
{
  uint64_t fault_address, regs[31], sp, pc;
} __attribute__ ((aligned (16)));

struct kernel_rt_sigframe
{
  unsigned char info[128];
  struct
  {
    uint64_t flags, link, stack[3], mask[16];
    struct stub_aarch64_mcontext uc_mcontext;
  } uc;
};

union stub_signal_frame
{
  ucontext_t x86_64;
  struct kernel_rt_sigframe aarch64;
};

#endif
