/* libsframe of binutils as a reader of the kit (harness/adapters/c).  The
   library finds rows and decodes their data words; the kit applies the rules to
   a frame.

   ci/adapters compiles it together with the library's source, so that
   AddressSanitizer and UndefinedBehaviorSanitizer watch both: memory that the
   library reads or writes and may not ends the process, with what it was on
   standard error.  Without them, cc -I... main.c sanitizer.c sframe-kit.c
   libsframe.a will do.

   Look-ups of the library take all function starts for relative to their
   fields, also where SFRAME_F_FDE_FUNC_START_PCREL is not set.  With --pcrel
   they are made so before it gets a section, so that its other answers about
   such sections can be seen.  */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "sframe-api.h"
#include "sframe-kit.h"
#include "sanitizer.h"

#ifndef VERSION
#define VERSION "unknown"
#endif

static bool make_pcrel;

/* An opened section.  */
struct opened
{
  sframe_decoder_ctx *decoder;
  uint64_t address;
};

static uint64_t
field (const unsigned char *p, unsigned size, bool big)
{
  uint64_t value = 0;
  for (unsigned i = 0; i < size; i++)
    value |= (uint64_t) p[i] << 8 * (big ? size - 1 - i : i);
  return value;
}

/* Makes function starts relative to their fields, if they are not.  */
static void
starts_from_fields (unsigned char *data, size_t size)
{
  const size_t header = sizeof (sframe_header);
  if (size < header || (data[3] & SFRAME_F_FDE_FUNC_START_PCREL)
      || (data[2] != SFRAME_VERSION_2 && data[2] != SFRAME_VERSION_3))
    return;
  bool big = field (data, 2, false) != SFRAME_MAGIC;
  if (field (data, 2, big) != SFRAME_MAGIC)
    return;
  bool is_v3 = data[2] == SFRAME_VERSION_3;
  unsigned width = is_v3 ? 8 : 4;
  size_t entry = is_v3 ? sizeof (sframe_func_desc_idx_v3)
		       : sizeof (sframe_func_desc_entry_v2);
  uint64_t count = field (data + offsetof (sframe_header, sfh_num_fdes), 4, big);
  uint64_t at = header + data[offsetof (sframe_header, sfh_auxhdr_len)]
		+ field (data + offsetof (sframe_header, sfh_fdeoff), 4, big);
  data[3] |= SFRAME_F_FDE_FUNC_START_PCREL;
  for (; count && at + width <= size; count--, at += entry)
    {
      uint64_t start = field (data + at, width, big) - at;
      for (unsigned i = 0; i < width; i++)
	data[at + (big ? width - 1 - i : i)] = start >> 8 * i;
    }
}

/* Opens a section.  Look-ups need sorted functions; newer libraries do not
   support version 1, whatever error they report.  */
static void *
open_section (struct kit_section *section, struct kit_fault *fault)
{
  int error = 0;
  if (make_pcrel)
    starts_from_fields (section->bytes, section->size);
  sframe_decoder_ctx *decoder
    = sframe_decode ((const char *) section->bytes, section->size, &error);
  if (decoder == NULL)
    {
      if (section->size > 2 && section->bytes[2] == SFRAME_VERSION_1)
	fault->unsupported = "sframe_decode: version 1";
      fault->message = sframe_errmsg (error);
      return NULL;
    }
  if (!(sframe_decoder_get_flags (decoder) & SFRAME_F_FDE_SORTED))
    {
      fault->unsupported = "sframe_find_fre: FDEs that are not sorted";
      sframe_decoder_free (&decoder);
      return NULL;
    }
  uint8_t arch = sframe_decoder_get_abi_arch (decoder);
  section->abi = arch == SFRAME_ABI_AMD64_ENDIAN_LITTLE ? KIT_AMD64
		 : arch == SFRAME_ABI_S390X_ENDIAN_BIG ? KIT_S390X
		 : arch == SFRAME_ABI_AARCH64_ENDIAN_BIG ? KIT_AARCH64_BE : KIT_AARCH64;
  struct opened *opened = malloc (sizeof *opened);
  if (opened)
    *opened = (struct opened) { decoder, section->address };
  return opened;
}

static void
close_section (void *of)
{
  struct opened *opened = of;
  sframe_decoder_free (&opened->decoder);
  free (opened);
}

/* A function as the library reports it: its start is relative to the start of
   the section.  */
struct function
{
  uint32_t index, size, rows;
  int64_t start;
  unsigned char info, info2;
  uint8_t rep_size;
  bool is_flex, is_signal;
};

static bool
function_at (const sframe_decoder_ctx *decoder, uint32_t index, struct function *f)
{
  uint8_t version = sframe_decoder_get_version (decoder);
  int error = 0;
  memset (f, 0, sizeof *f);
  f->index = index;
  if (version == 3)
    error = sframe_decoder_get_funcdesc_v3 (decoder, index, &f->rows, &f->size,
					    &f->start, &f->info, &f->info2,
					    &f->rep_size);
  else
    {
      int32_t start = 0;
      error = sframe_decoder_get_funcdesc_v2 (decoder, index, &f->rows,
					      &f->size, &start, &f->info,
					      &f->rep_size);
      f->start = start;
    }
  if (error == SFRAME_ERR)
    return false;
  /* As dump_sframe does.  */
  if (sframe_decoder_get_flags (decoder) & SFRAME_F_FDE_FUNC_START_PCREL)
    f->start = (uint64_t) f->start
	       + sframe_decoder_get_offsetof_fde_start_addr (decoder, index, &error);
  f->is_flex = version == 3 && SFRAME_V3_FDE_TYPE (f->info2) == SFRAME_FDE_TYPE_FLEX;
  f->is_signal = version == 3 && SFRAME_V3_FDE_SIGNAL_P (f->info);
  return true;
}

/* The next function, from an index on, that contains a PC.  */
static bool
function_with (const sframe_decoder_ctx *decoder, uint32_t from, int64_t pc,
	       struct function *f)
{
  uint32_t count = sframe_decoder_get_num_fidx (decoder);
  for (uint32_t i = from; i < count; i++)
    if (function_at (decoder, i, f) && pc >= f->start
	&& (uint64_t) pc - f->start < f->size)
      return true;
  return false;
}

/* The position of a row in a function: that of the last equal one.  */
static bool
row_in (const sframe_decoder_ctx *decoder, const struct function *f,
	const sframe_frame_row_entry *row, uint32_t *position)
{
  sframe_frame_row_entry other;
  bool is_there = false;
  for (uint32_t i = 0; i < f->rows; i++)
    if (sframe_decoder_get_fre (decoder, f->index, i, &other) == 0
	&& other.fre_start_addr == row->fre_start_addr
	&& other.fre_info == row->fre_info
	&& memcmp (other.fre_datawords, row->fre_datawords, MAX_DATAWORD_BYTES) == 0)
      {
	*position = i;
	is_there = true;
      }
  return is_there;
}

/* The function and the position of a row that sframe_find_fre has found for a
   PC, which it does not report: the function that contains the PC and has the
   row, or else any that has it.  */
static bool
place_of (const sframe_decoder_ctx *decoder, int64_t pc,
	  const sframe_frame_row_entry *row, struct function *f, uint32_t *position)
{
  for (uint32_t i = 0; function_with (decoder, i, pc, f); i = f->index + 1)
    if (row_in (decoder, f, row, position))
      return true;
  uint32_t count = sframe_decoder_get_num_fidx (decoder);
  for (uint32_t i = 0; i < count; i++)
    if (function_at (decoder, i, f) && row_in (decoder, f, row, position))
      return true;
  return false;
}

static bool
is_s390x (const sframe_decoder_ctx *decoder)
{
  return sframe_decoder_get_abi_arch (decoder) == SFRAME_ABI_S390X_ENDIAN_BIG;
}

static struct kit_rule
at_cfa (int32_t offset)
{
  return (struct kit_rule) { .is_there = true, .dereference = true, .base = KIT_CFA,
			 .offset = offset };
}

/* A rule of default type.  */
static struct kit_rule
saved (const sframe_decoder_ctx *decoder, int32_t offset)
{
  if (is_s390x (decoder) && sframe_decoder_get_version (decoder) == SFRAME_VERSION_2
      && SFRAME_V2_S390X_OFFSET_IS_REGNUM (offset))
    return (struct kit_rule) { .is_there = true,
			   .base = SFRAME_V2_S390X_OFFSET_DECODE_REGNUM (offset) };
  return at_cfa (offset);
}

/* A rule of flexible type.  */
static struct kit_rule
flexible (uint32_t control, int32_t offset)
{
  return (struct kit_rule) {
    .is_there = true,
    .base = SFRAME_V3_FLEX_FDE_CTRLWORD_REG_P (control)
	      ? (int) SFRAME_V3_FLEX_FDE_CTRLWORD_REGNUM (control) : KIT_CFA,
    .dereference = SFRAME_V3_FLEX_FDE_CTRLWORD_DEREF_P (control),
    .offset = offset };
}

/* The content of a row by the library's getters, or the library's error.  */
static int
rules_of (const sframe_decoder_ctx *decoder, const struct function *f,
	  const sframe_frame_row_entry *row, struct kit_row *rules)
{
  const struct kit_rule unchanged = { .is_there = false };
  uint32_t type = f->is_flex ? SFRAME_FDE_TYPE_FLEX : SFRAME_FDE_TYPE_DEFAULT;
  int error = 0, ra_error = 0, fp_error = 0;
  memset (rules, 0, sizeof *rules);
  rules->start = row->fre_start_addr;
  rules->is_undefined = sframe_fre_get_ra_undefined_p (decoder, row, &error);
  if (error)
    return error;
  rules->is_mangled = sframe_fre_get_ra_mangled_p (decoder, row, &error);
  if (error || rules->is_undefined)
    return error;
  int32_t cfa = sframe_fre_get_cfa_offset (decoder, row, type, &error);
  if (error)
    return error;
  int32_t ra = sframe_fre_get_ra_offset (decoder, row, type, &ra_error);
  int32_t fp = sframe_fre_get_fp_offset (decoder, row, type, &fp_error);
  if (!f->is_flex)
    {
      uint8_t base = sframe_fre_get_base_reg_id (row, &error);
      rules->cfa = (struct kit_rule) { .is_there = true, .offset = cfa,
				   .base = base == SFRAME_BASE_REG_SP ? KIT_SP : KIT_FP };
      bool is_unsaved
	= ra_error || (is_s390x (decoder) && ra == SFRAME_FRE_RA_OFFSET_INVALID);
      rules->ra = is_unsaved ? unchanged : saved (decoder, ra);
      rules->fp = fp_error ? unchanged : saved (decoder, fp);
      return error;
    }
  /* Where dump_sframe reads the control words.  Without one, or with padding
     in its place, the getters return the header's fixed offset, if there is
     one.  */
  uint32_t control = sframe_get_fre_udata (row, 0, &error);
  if (error)
    return error;
  rules->cfa = flexible (control, cfa);
  bool is_fixed = sframe_decoder_get_fixed_ra_offset (decoder)
		  != SFRAME_CFA_FIXED_RA_INVALID;
  int absent = 0;
  control = sframe_get_fre_udata (row, 2, &absent);
  bool is_padding = !absent && control == SFRAME_FRE_RA_OFFSET_INVALID;
  if (!absent && !is_padding)
    {
      if (ra_error)
	return ra_error;
      rules->ra = flexible (control, ra);
    }
  else
    rules->ra = is_fixed && !ra_error ? at_cfa (ra) : unchanged;
  control = sframe_get_fre_udata (row, is_padding ? 3 : 4, &absent);
  if (absent || control == 0)
    rules->fp = fp_error ? unchanged : at_cfa (fp);
  else
    {
      if (fp_error)
	return fp_error;
      rules->fp = flexible (control, fp);
    }
  return 0;
}

/* What the library finds for a PC.  */
static void
look_up (void *of, uint64_t pc, bool is_return, struct kit_place *place)
{
  const struct opened *opened = of;
  const sframe_decoder_ctx *decoder = opened->decoder;
  int64_t at = pc - is_return - opened->address;
  struct function f = { .index = 0 };
  sframe_frame_row_entry row;
  if (sframe_find_fre (decoder, at, &row) != 0)
    {
      /* It fails without a reason.  */
      bool is_there = function_with (decoder, 0, at, &f);
      place->found = is_there ? KIT_NO_ROW : KIT_NO_FDE;
      place->fde = f.index;
      return;
    }
  place->found = KIT_FAULTY;
  /* Looking for the position takes long, and is only needed without a function.  */
  bool is_placed = !place->wants_positions && function_with (decoder, 0, at, &f);
  if (!is_placed && !place_of (decoder, at, &row, &f, &place->row))
    {
      place->fault.message = "a row of no function";
      return;
    }
  place->fde = f.index;
  place->is_signal = f.is_signal;
  place->is_key_b = SFRAME_V2_FUNC_PAUTH_KEY (f.info) == SFRAME_AARCH64_PAUTH_KEY_B;
  int error = rules_of (decoder, &f, &row, &place->rules);
  if (error)
    place->fault.message = sframe_errmsg (error);
  else
    place->found = KIT_ROW;
}

static uint32_t
fdes (void *of)
{
  return sframe_decoder_get_num_fidx (((struct opened *) of)->decoder);
}

/* There is no getter that says that a function without rows is an outermost
   frame.  */
static void
fde (void *of, uint32_t index, struct kit_fde *fde)
{
  const struct opened *opened = of;
  struct function f;
  /* The protocol has no terms for other types of rows; the library reads a
     function that has them, and ends the process at the first row.  */
  if (!function_at (opened->decoder, index, &f)
      || (f.rows == 0 && SFRAME_V2_FUNC_FRE_TYPE (f.info) > SFRAME_FRE_TYPE_ADDR4))
    {
      fde->is_faulty = true;
      return;
    }
  fde->start = opened->address + (uint64_t) f.start;
  fde->size = f.size;
  fde->start_size = 1u << SFRAME_V2_FUNC_FRE_TYPE (f.info);
  fde->is_mask = SFRAME_V2_FUNC_PC_TYPE (f.info) == SFRAME_V3_FDE_PCTYPE_MASK;
  fde->is_flex = f.is_flex;
  fde->is_key_b = SFRAME_V2_FUNC_PAUTH_KEY (f.info) == SFRAME_AARCH64_PAUTH_KEY_B;
  fde->is_signal = f.is_signal;
  fde->rep_size = f.rep_size;
  fde->rows = f.rows;
}

static void
row (void *of, uint32_t index, uint32_t position, struct kit_row *rules)
{
  const struct opened *opened = of;
  struct function f;
  sframe_frame_row_entry row;
  rules->is_faulty = !function_at (opened->decoder, index, &f)
		     || sframe_decoder_get_fre (opened->decoder, index, position, &row) != 0
		     || rules_of (opened->decoder, &f, &row, rules) != 0;
}

static struct kit_reader libsframe_reader
  = { .name = "libsframe", .version = VERSION, .open = open_section, .close = close_section,
      .look_up = look_up, .fdes = fdes, .fde = fde, .row = row };

#ifndef WITHOUT_MAIN
int
main (int argc, char **argv)
{
  report_memory_errors ();
  make_pcrel = argc > 1 && strcmp (argv[1], "--pcrel") == 0;
  if (make_pcrel)
    libsframe_reader.version = VERSION " --pcrel";
  return kit_main (&libsframe_reader);
}
#endif
