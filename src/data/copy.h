/* Copies what an extent holds of a part of a box to where it belongs in the file. */
#pragma once

#include "data/array_impl.h"

/* The same extent is copied soon: its first bytes are called for from memory. It is loaded. */
void copy_soon(const struct part *, const struct extent *);
/* to: memory that part.in_file counts from. An absent extent gives fill values. */
void copy_part(const struct array *, const struct part *, const struct extent *, uint8_t *to);
