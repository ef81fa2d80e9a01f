/* What codecs have in common that add four bytes (little-endian) computed from the data, before or
 * behind them. */
#pragma once

#include "codec/codec.h"

struct checksum {
	uint32_t (*sum)(const struct checksum *, const uint8_t *, size_t);
	bool at_start;
	/* jenkins_lookup3 only */
	uint32_t start_value;
	struct buf prefix;
};

/* For open: how, which is copied (its prefix is taken over), with at_start as "location" says, if
 * it does. */
int checksum_open(const struct checksum *how, const struct json *config, const struct form *in,
	struct form *out, void **ret);
void checksum_close(void *);
/* The ops' own. A sum that does not fit is -EIO. */
int checksum_decode(const void *, const struct form *, struct span in, struct buf *out);
int checksum_encode(const void *, const struct form *, struct span in, struct buf *out);
