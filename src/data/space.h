/* Numbers for names: what an array's chunks mean (path, type, chunks, codecs) ↔ the number that stands for it in the
 * keys of cached pieces. The same name always gets the same number, and no other name does. Any thread may call. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct spaces;

int spaces_new(struct spaces **ret);
struct spaces *spaces_free(struct spaces *);
/* 0 or -ENOMEM. */
int spaces_number(struct spaces *, const char *name, size_t len, uint64_t *ret);
