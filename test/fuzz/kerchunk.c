/* Hostile kerchunk references in JSON: read in pieces, listed, each looked up. The first byte says
 * how long the pieces are. */
#include "../unit/kerchunk_text.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 16, DEEPEST = 8, NAMES = 64 };

struct below {
	const struct kerchunk_table *table;
	const char *prefix;
	unsigned depth, left;
};

static int
look(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	struct below *b = arg;
	CLEAN(clean_free) char *key = NULL;
	struct kerchunk_ref ref;
	if (!b->left-- || asprintf(&key, "%s%s%s", b->prefix, name, prefix ? "/" : "") < 0)
		return 1;
	if (prefix && b->depth < DEEPEST)
		kerchunk_table_list(
			b->table, key, look, &(struct below){b->table, key, b->depth + 1, NAMES});
	else if (!prefix && kerchunk_table_find(b->table, key, &ref) != 0)
		abort(); /* it was just listed */
	else if (!prefix && ref.kind == KERCHUNK_BYTES && ref.bytes.len > MOST)
		abort();
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kerchunk_table *t = NULL;
	if (!size)
		return 0;
	size_t piece = *data ? *data : SIZE_MAX;
	int r = read_piecewise((struct span){data + 1, size - 1}, piece, MOST, &t);
	if (r < 0 ? t || !*err_text() : !t)
		abort();
	if (t)
		kerchunk_table_list(t, "", look, &(struct below){t, "", 0, NAMES});
	kerchunk_table_free(t);
	return 0;
}
