#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

struct search
{
  ElfW (Addr) address;
  struct dl_find_object *found;
};

static int
look (struct dl_phdr_info *info, size_t size, void *data)
{
  struct search *search = data;
  ElfW (Addr) start = (ElfW (Addr)) -1, end = 0, frames = 0;
  int is_here = 0;
  (void) size;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    {
      const ElfW (Phdr) *part = &info->dlpi_phdr[i];
      ElfW (Addr) from = info->dlpi_addr + part->p_vaddr, to = from + part->p_memsz;
      if (part->p_type == PT_GNU_EH_FRAME)
        frames = from;
      if (part->p_type != PT_LOAD)
        continue;
      start = from < start ? from : start;
      end = to > end ? to : end;
      is_here |= from <= search->address && search->address < to;
    }
  if (!is_here)
    return 0;
  search->found->dlfo_flags = 0;
  search->found->dlfo_map_start = (void *) start;
  search->found->dlfo_map_end = (void *) end;
  search->found->dlfo_link_map = NULL;
  search->found->dlfo_eh_frame = (void *) frames;
  return frames != 0 ? 1 : -1;
}

__attribute__ ((visibility ("hidden"))) int
_dl_find_object (void *address, struct dl_find_object *result)
{
  struct search search = { (ElfW (Addr)) address, result };
  return dl_iterate_phdr (look, &search) == 1 ? 0 : -1;
}
