/* Hostile names of stores. */
#include "base/url.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct url u = {0}, again = {0};
	char *store = strndup((const char *)data, size);
	if (!store)
		abort();
	if (url_parse(store, &u) == 0) {
		if (strcmp(u.scheme, "")
				? *u.query == 0 && strcmp(u.shown, store) && !strchr(store, '?')
				: *u.path != '/')
			abort();
		/* what is shown names the same store */
		if (*u.scheme &&
			(url_parse(u.shown, &again) < 0 || strcmp(u.path, again.path) ||
				strcmp(u.host, again.host) || strcmp(u.backend, again.backend) ||
				u.mode != again.mode || u.npairs != again.npairs))
			abort();
		url_get(&u, "aws.region");
		url_free(&again);
		url_free(&u);
	}
	free(store);
	return 0;
}
