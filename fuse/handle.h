/* What the kernel's file handles stand for: the head of an open file or directory. Requests hold
 * it: one that was given up may still run when the kernel releases the file. A table knows all that
 * are open, because a connection that ends releases nothing. Safe from every thread. */
#pragma once

#include "base/clean.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct inode;

struct handle {
	struct handle **slot, *after; /* in the table */
	struct handles *table;
	const struct inode *inode; /* what is open, held by the handle; NULL: a directory */
	atomic_uint refs;
	void (*free)(struct handle *);
};

struct handles {
	pthread_mutex_t lock; /* guards first and the links of all handles */
	struct handle *first;
};

void handles_init(struct handles *);
/* Closes all that are open still; no request uses them any more. */
void handles_done(struct handles *);

/* With one reference: the kernel's. */
void handle_open(struct handles *, struct handle *, void (*free)(struct handle *));
struct handle *handle_ref(struct handle *); /* NULL is allowed */
void handle_unref(struct handle *);         /* so here */

/* Holds those of an inode, at most max. */
size_t handles_of(struct handles *, const struct inode *, struct handle **ret, size_t max);

/* The number that the kernel is given for it. */
uint64_t handle_number(struct handle *);
struct handle *handle_of(uint64_t number);
