#include "base/lazy.h"

#include "base/clean.h"
#include "base/err.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

/* The lock is held. */
static int
load(struct lazy *l)
{
	if (atomic_load_explicit(&l->loaded, memory_order_relaxed))
		return 0;
	void *library = dlopen(l->file, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return err_set(-EIO, "cannot load a library: %s", dlerror());
	for (size_t i = 0; l->names[i]; i++) {
		void *function = dlsym(library, l->names[i]);
		if (!function) {
			dlclose(library);
			return err_set(
				-EIO, "library '%s' has no function '%s'", l->file, l->names[i]);
		}
		memcpy((char *)l->pointers + i * sizeof function, &function, sizeof function);
	}
	atomic_store_explicit(&l->loaded, true, memory_order_release);
	return 0;
}

int
lazy_load(struct lazy *l)
{
	static pthread_mutex_t lock =
		PTHREAD_MUTEX_INITIALIZER; /* guards the pointers of all libraries until they are
					      loaded */
	int r = 0;
	if (atomic_load_explicit(&l->loaded, memory_order_acquire))
		return 0;
	LOCKED(&lock)
		r = load(l);
	return r;
}
