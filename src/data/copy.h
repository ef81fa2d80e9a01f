/* Copies what a piece holds of a part of a box to where it belongs in the file. */
#pragma once

#include "data/array_impl.h"

/* The same piece is copied soon: its first bytes are called for from memory. It is loaded. */
void copy_soon(const struct part *, const struct piece *);
/* to: memory that part.in_file counts from. An absent piece gives fill values. */
void copy_part(const struct array *, const struct part *, const struct piece *, uint8_t *to);
