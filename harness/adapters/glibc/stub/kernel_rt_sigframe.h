/* In place of kernel_rt_sigframe.h: see stub.h.  */
