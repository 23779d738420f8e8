/* In place of ldsodefs.h.  */

#define GLRO(name) stub_##name
#define stub_dl_find_object stub_find_object
