/* Where the URL of a kerchunk reference leads. The rule for relative ones is GDAL's: they begin in
 * the folder of the file that holds the reference. */
#pragma once

#include "backends/container/container.h"

/* Of a file of references. Folders are prefixes of keys of the store that it lies in, "" or
 * "a/b/". */
struct kerchunk_base {
	const char *folder; /* its own */
	const char *set;    /* that of the whole set: what lies below it belongs to the set */
	const char *home;   /* URL of the store that it lies in, without a '/' at its end; NULL: it
			       has none */
};

/* Fills in kind and name: PLACE_KEY below base->set, else PLACE_URL with what is special in URLs
 * percent-encoded. -ENOTSUP: a kind of URL that is not read here; -EIO: it is none. */
int kerchunk_url(const char *url, const struct kerchunk_base *, struct chunk_place *ret);
