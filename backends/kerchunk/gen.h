/* Templates and generated references of kerchunk's version 1 (kerchunk, docs/source/spec.rst). */
#pragma once

#include "backends/kerchunk/table.h"

/* Resolves the templates in the table's URLs, then adds what `gen` describes. Both are JSON texts,
 * or empty. A URL that cannot be resolved makes its references KERCHUNK_BAD. -EINVAL: templates or
 * gen make no sense; -EFBIG: they make too much. */
int kerchunk_gen(struct span templates, struct span gen, struct kerchunk_table *);
