/* A store made of a fuzzer's input: objects one after the other, each a letter that says which key,
 * then its bytes, up to a byte 1. */
#pragma once

#include "store/zmap.h"

#include <stdlib.h>
#include <string.h>

struct fuzz_key {
	char letter;
	const char *key;
};

/* The store "mem:NAME" with what the input says of n keys. The caller closes it. */
static inline struct zmap *
fuzz_store(char *name, const struct fuzz_key *key, size_t n, const uint8_t *data, size_t size)
{
	static char empty[] = "", mem[] = "mem";
	const struct url u = {.wrappers = empty,
		.backend = mem,
		.scheme = mem,
		.host = empty,
		.path = name,
		.shown = name};
	struct zmap *z = NULL;
	if (zmap_open(&u, &(struct zmap_options){.writable = true, .timeout = SECOND}, &z) < 0)
		abort();
	for (size_t at = 0; at < size;) {
		const uint8_t *object = data + at, *end = memchr(object, 1, size - at);
		const size_t len = end ? (size_t)(end - object) : size - at;
		for (size_t i = 0; len && i < n; i++)
			if (key[i].letter == (char)*object)
				zmap_put(z, &(struct zmap_put){key[i].key, {object + 1, len - 1}},
					NULL);
		at += len + 1;
	}
	return z;
}
