/* Locals that own something: CLEAN(x_freep) struct x *p = NULL; hand over with MOVE(p). */
#pragma once

#include <pthread.h>
#include <stdlib.h>

#define CLEAN(fn) __attribute__((cleanup(fn)))

/* The value of p, which is NULL afterwards: the caller of this line no longer owns it. */
#define MOVE(p)                                                                                    \
	__extension__({                                                                            \
		__typeof__(p) moved_ = (p);                                                        \
		(p) = NULL;                                                                        \
		moved_;                                                                            \
	})

/* Defines x_freep(struct x **) for CLEAN from x_free(struct x *). */
#define CLEAN_DEFINE(type, fn)                                                                     \
	static inline void fn##p(type **p)                                                         \
	{                                                                                          \
		fn(*p);                                                                            \
	}

static inline void
clean_free(void *p)
{
	free(*(void **)p);
}

static inline void
clean_unlock(pthread_mutex_t **m)
{
	if (*m)
		pthread_mutex_unlock(*m);
}

static inline pthread_mutex_t *
clean_lock(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	return m;
}

/* LOCKED(&mutex) { … }: held for the block that follows, released on every way out of it
 * (return, goto and break included; break leaves the block). */
#define LOCKED(m)                                                                                  \
	for (CLEAN(clean_unlock) pthread_mutex_t *locked_ = clean_lock(m); locked_;                \
		pthread_mutex_unlock(locked_), locked_ = NULL)
