/* Which versions an archive and its members have. */
#include "backends/zip/write.h"

#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool
zip_same_archive(const struct zmap_stat *a, const struct zmap_stat *b)
{
	return a->size == b->size && a->mtime == b->mtime && !strcmp(a->version, b->version);
}

/* Of the archive's version and all that says where the member is: another archive has none of its
 * versions. */
struct zip_origin
zip_origin_of(const struct archive *a, const struct zip_member *m)
{
	if (a->origin)
		return a->origin[m - a->index->member];
	uint64_t h = hash_number(hash_text(HASH_START, a->stat.version), a->stat.size);
	h = hash_number(h, (uint64_t)a->stat.mtime);
	return (struct zip_origin){h, m->header, a->stat.mtime};
}

void
zip_say_version(const struct zip_origin *o, uint32_t crc, struct zmap_stat *ret)
{
	snprintf(ret->version, sizeof ret->version, "%016" PRIx64 "%08" PRIx32 "%" PRIx64,
		o->archive, crc, o->place);
}

void
zip_say_stat(const struct archive *a, const struct zip_member *m, struct zmap_stat *ret)
{
	const struct zip_origin o = zip_origin_of(a, m);
	*ret = (struct zmap_stat){.size = m->size, .mtime = o.mtime, .placed = a->stat.placed};
	zip_say_version(&o, m->crc, ret);
}
