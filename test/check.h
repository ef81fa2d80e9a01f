/* What every C test uses: CHECK prints both values and goes on; the exit status says whether all
 * held. */
#pragma once

#include "base/err.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failed;

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			check_failed++;                                                            \
			fprintf(stderr, "%s:%d: not true: %s (err: %s)\n", __FILE__, __LINE__,     \
				#cond, err_text());                                                \
		}                                                                                  \
	} while (0)

#define CHECK_INT(got, want)                                                                       \
	do {                                                                                       \
		long long got_ = (long long)(got), want_ = (long long)(want);                      \
		if (got_ != want_) {                                                               \
			check_failed++;                                                            \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld (err: %s)\n", __FILE__,       \
				__LINE__, #got, got_, want_, err_text());                          \
		}                                                                                  \
	} while (0)

#define CHECK_STR(got, want)                                                                       \
	do {                                                                                       \
		const char *got_ = (got), *want_ = (want);                                         \
		if (!got_ || strcmp(got_, want_)) {                                                \
			check_failed++;                                                            \
			fprintf(stderr, "%s:%d: %s is '%s', not '%s'\n", __FILE__, __LINE__, #got, \
				got_ ? got_ : "(null)", want_);                                    \
		}                                                                                  \
	} while (0)

#define CHECK_MEM(got, want, n)                                                                    \
	do {                                                                                       \
		if (memcmp((got), (want), (n))) {                                                  \
			check_failed++;                                                            \
			fprintf(stderr, "%s:%d: %s differs from %s\n", __FILE__, __LINE__, #got,   \
				#want);                                                            \
		}                                                                                  \
	} while (0)

/* A fixed sequence: the same test data in every run. */
static inline uint32_t
check_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static inline int
check_end(void)
{
	return check_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
