/* Libraries that are loaded when something of theirs is first needed. What stores behind a network are made with takes longer to load than
 * a store on a disk takes to open.
 *
 * A header lists a library's functions once, LIBRARY(F) F(name) F(name) …, makes of the list a struct of pointers by LAZY_MEMBER, and calls
 * each function through that by a macro of its own name. What uses them calls the load function first, and again as often as it likes. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define LAZY_MEMBER(name) __typeof__(name) *name;
#define LAZY_NAME(name) #name,
/* For one file: the struct, of that name, and its load function, NAME_load. */
#define LAZY_LIBRARY(library, LIST, soname)                                                        \
	static struct {                                                                            \
		LIST(LAZY_MEMBER)                                                                  \
	} library;                                                                                 \
	static int library##_load(void)                                                            \
	{                                                                                          \
		static const char *const names[] = {LIST(LAZY_NAME) NULL};                         \
		static struct lazy lazy = {.file = soname, .names = names, .pointers = &library};  \
		return lazy_load(&lazy);                                                           \
	}

struct lazy {
	const char *file;         /* by which the dynamic linker finds it: its soname */
	const char *const *names; /* of functions, NULL last */
	void *pointers;           /* as many pointers to functions, in the same order */
	atomic_bool loaded;
};

/* 0, or -EIO with the reason. Safe from every thread; costs one load once that is done. */
int lazy_load(struct lazy *);
