/* Lists that grow: a pointer to elements and their number, two fields of the struct that owns them.
 * An empty list is {NULL, 0}.
 *
 * Room is the next power of two, so no capacity is kept; elements may also be taken from the end.
 * The owner frees elements and pointer: LIST_FREE, where elements are pointers from malloc; a local
 * list of others is CLEAN(clean_free). Where threads share a list, its owner locks.
 * 0, or -ENOMEM with "no memory for WHAT": the list is then as it was. `of` and `n` are evaluated
 * more than once. */
#pragma once

#include "base/err.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline int
list_no_memory(const char *what)
{
	return err_set(-ENOMEM, "no memory for %s", what);
}

/* Room for element n; NULL: none, and `of` stays. */
static inline void *
list_grown(void *of, size_t n, size_t size)
{
	size_t room = n ? 2 * n : 1, bytes;
	if (n & (n - 1))
		return of;
	return room < n || __builtin_mul_overflow(room, size, &bytes) ? NULL : realloc(of, bytes);
}

/* Room for one more behind n of them. */
#define LIST_MORE(of, n, what)                                                                     \
	__extension__({                                                                            \
		void *grown_ = list_grown((of), (n), sizeof *(of));                                \
		if (grown_)                                                                        \
			(of) = grown_;                                                             \
		grown_ ? 0 : list_no_memory(what);                                                 \
	})

/* Appends a value: without memory it stays its owner's. */
#define LIST_ADD(of, n, what, ...)                                                                 \
	(LIST_MORE(of, n, what) < 0 ? -ENOMEM : ((of)[n] = (__VA_ARGS__), (n)++, 0))

/* The same before element `at`. */
#define LIST_INSERT(of, n, at, what, value)                                                        \
	__extension__({                                                                            \
		int more_ = LIST_MORE(of, n, what);                                                \
		if (more_ == 0) {                                                                  \
			memmove((of) + (at) + 1, (of) + (at), ((n) - (at)) * sizeof *(of));        \
			(of)[at] = (value);                                                        \
			(n)++;                                                                     \
		}                                                                                  \
		more_;                                                                             \
	})

/* Appends a pointer from malloc and takes it over, also when it fails. NULL is no memory. */
#define LIST_TAKE(of, n, what, p)                                                                  \
	__extension__({                                                                            \
		__typeof__(*(of)) taken_ = (p);                                                    \
		int took_ = taken_ ? LIST_ADD(of, n, what, taken_) : list_no_memory(what);         \
		if (took_ < 0)                                                                     \
			free(taken_);                                                              \
		took_;                                                                             \
	})

/* Frees a list and the pointers in it. of: may be NULL. */
#define LIST_FREE(of, n)                                                                           \
	do {                                                                                       \
		for (size_t i_ = 0; (of) && i_ < (n); i_++)                                        \
			free((of)[i_]);                                                            \
		free(of);                                                                          \
	} while (0)
