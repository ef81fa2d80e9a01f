/* Libraries that are loaded when something of theirs is first needed. What stores behind a network
 * are made with takes longer to load than a store on a disk takes to open.
 *
 * A list has a library's functions once: LIST(F) F(name) F(name) …. A header makes of it a struct
 * of pointers by LAZY_DECLARE, one file loads them by LAZY_DEFINE, and each function is called
 * through that struct, by a macro of its own name if need be. LAZY_LIBRARY is both for one file.
 * What uses them calls the load function first, and again as often as it likes. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define LAZY_MEMBER(name) __typeof__(name) *name;
#define LAZY_NAME(name) #name,
#define LAZY_STRUCT(library, LIST)                                                                 \
	struct library {                                                                           \
		LIST(LAZY_MEMBER)                                                                  \
	}
#define LAZY_LOAD(library, LIST, soname)                                                           \
	{                                                                                          \
		static const char *const names[] = {LIST(LAZY_NAME) NULL};                         \
		static struct lazy lazy = {.file = soname, .names = names, .pointers = &library};  \
		return lazy_load(&lazy);                                                           \
	}
/* The struct of that name, and LIBRARY_load: 0, or -EIO with the reason. */
#define LAZY_DECLARE(library, LIST)                                                                \
	LAZY_STRUCT(library, LIST);                                                                \
	extern struct library library;                                                             \
	int library##_load(void)
#define LAZY_DEFINE(library, LIST, soname)                                                         \
	struct library library;                                                                    \
	int library##_load(void) LAZY_LOAD(library, LIST, soname)
#define LAZY_LIBRARY(library, LIST, soname)                                                        \
	static LAZY_STRUCT(library, LIST) library;                                                 \
	static int library##_load(void) LAZY_LOAD(library, LIST, soname)

struct lazy {
	const char *file;         /* by which the dynamic linker finds it: its soname */
	const char *const *names; /* of functions, NULL last */
	void *pointers;           /* as many pointers to functions, in the same order */
	atomic_bool loaded;
};

/* 0, or -EIO with the reason. Safe from every thread; costs one load once that is done. */
int lazy_load(struct lazy *);
