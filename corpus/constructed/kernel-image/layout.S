/* A linker script: as those of kernels, it says where in memory a segment is loaded, too, which is another place.  */
PHDRS { text PT_LOAD FLAGS (5); data PT_LOAD FLAGS (6); }
SECTIONS
{
  . = 0xffffffff81000000;
  .text : AT (0x1000000) { *(.text) } :text
  .eh_frame : { *(.eh_frame) } :text
  .sframe : { *(.sframe) } :text
  . = ALIGN (4096);
  .data : AT (0x1000000) { *(.data) LONG (1) } :data
}
