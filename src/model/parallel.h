/* The same thing done to many nodes of a remote store at once, on threads that live as long as that
 * takes: each waits for the store nearly all of its time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Calls fn(arg, i) for every i < n, in no order; returns when all are done. remote: worth
 * threads. */
void in_parallel(size_t n, bool remote, void (*fn)(void *arg, size_t i), void *arg);
