/* 64-bit fingerprints that are the same in every run and on every machine: inode numbers, versions,
 * and where things are in tables. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* FNV-1a: https://datatracker.ietf.org/doc/draft-eastlake-fnv/ */
static const uint64_t HASH_START = 0xcbf29ce484222325u;
static const uint64_t HASH_PRIME = 0x100000001b3u;

static inline uint64_t
hash_bytes(uint64_t h, const void *data, size_t len)
{
	const uint8_t *p = data;
	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * HASH_PRIME;
	return h;
}

/* By value, so that byte order does not matter. */
static inline uint64_t
hash_number(uint64_t h, uint64_t v)
{
	for (unsigned i = 0; i < 8; i++)
		h = (h ^ (v >> (8 * i) & 0xff)) * HASH_PRIME;
	return h;
}

static inline uint64_t
hash_text(uint64_t h, const char *s)
{
	return hash_bytes(h, s, strlen(s) + 1); /* its end too: "a", "bc" is not "ab", "c" */
}

/* Spreads the last bytes over all bits. */
static inline uint64_t
hash_end(uint64_t h)
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdu;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53u;
	return h ^ h >> 33;
}

/* Of a name, for a table. */
static inline uint64_t
hash_name(const char *s)
{
	return hash_end(hash_text(HASH_START, s));
}

/* Of two numbers, for a table. */
static inline uint64_t
hash_pair(uint64_t a, uint64_t b)
{
	return hash_end(a * HASH_PRIME ^ b);
}

/* Of many bytes, eight at a time: another number than that of hash_bytes. */
static inline uint64_t
hash_block(uint64_t h, const void *data, size_t len)
{
	const uint8_t *p = data;
	for (; len >= 8; p += 8, len -= 8) {
		uint64_t v = 0;
		for (unsigned i = 0; i < 8; i++)
			v |= (uint64_t)p[i] << 8 * i;
		h = (h ^ v) * HASH_PRIME;
		h ^= h >> 32;
	}
	return hash_bytes(h, p, len);
}
