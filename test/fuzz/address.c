/* Hostile URLs and endpoints of S3 stores: "URL\nENDPOINT\nREGION". */
#include "backends/s3/address.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const struct address *a)
{
	struct buf b = {0};
	if (!*a->bucket || !address_is_region(a->region))
		abort();
	size_t prefix = strlen(a->prefix);
	if (prefix && (a->prefix[prefix - 1] != '/' || a->prefix[0] == '/'))
		abort();
	if (address_base(a, a->region, &b) < 0 || address_path(a, "key", &b) < 0 ||
		buf_terminate(&b) < 0)
		abort();
	/* nothing that could end a line of HTTP */
	for (size_t i = 0; i < b.len; i++)
		if (b.data[i] <= ' ' || b.data[i] == 0x7f)
			abort();
	if (b.len < 4 || memcmp(b.data + b.len - 4, "/key", 4) != 0)
		abort();
	buf_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct url u;
	struct address a;
	char *text = strndup((const char *)data, size), *rest = text;
	if (!text)
		return 0;
	const char *store = strsep(&rest, "\n"), *endpoint = strsep(&rest, "\n"), *region = rest;
	if (url_parse(store, &u) == 0) {
		for (int i = 0; i < 3 && !strcmp(u.backend, "s3"); i++)
			if (address_find(&u,
				    &(struct address_wishes){
					    endpoint, region, (enum zmap_addressing)i},
				    &a) == 0) {
				check(&a);
				address_free(&a);
			}
		url_free(&u);
	}
	free(text);
	return 0;
}
