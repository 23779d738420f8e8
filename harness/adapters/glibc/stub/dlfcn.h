/* In place of dlfcn.h: the section of an address.  */

#ifndef STUB_DLFCN_H
#define STUB_DLFCN_H

struct dl_find_object
{
  unsigned long long dlfo_flags;
  void *dlfo_sframe;
};

#define DLFO_FLAG_SFRAME 1

int stub_find_object (void *, struct dl_find_object *);

#endif
