#include "fuse/notify.h"

#include "fuse/server.h"

#include "base/err.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>

struct notifier {
	struct server *server;
	struct fuse_session *se;
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t idle;
	unsigned telling;
	bool stopped;
};

/* Layouts of one path that the kernel may know at once; older ones are about to be forgotten. */
enum { LAYOUTS = 16 };

static void
tell_inodes(struct notifier *n, const char *path, bool data)
{
	uint64_t id[LAYOUTS];
	size_t count = inodes_of_path(n->server->inodes, path, id, LAYOUTS);
	for (size_t i = 0; i < count; i++) {
		int r = fuse_lowlevel_notify_inval_inode(n->se, id[i], data ? 0 : -1, 0);
		log_debug("stale '%s' (%s): %d", path, data ? "data" : "attributes", r);
	}
}

/* The name, too: it may lead to another layout now, to nothing, or to something after nothing. The kernel takes the
 * directory for itself to do this, and would keep everybody out while a question about it hangs: then the name is left
 * to run out. */
static void
tell_name(struct notifier *n, const char *path)
{
	uint64_t id;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	CLEAN(clean_free) char *parent = strndup(path, slash ? (size_t)(slash - path) : 0);
	if (!*path || !parent || queue_asks_in(n->server->queue, parent))
		return;
	if (inodes_of_path(n->server->inodes, parent, &id, 1))
		fuse_lowlevel_notify_inval_entry(n->se, id, name, strlen(name));
}

static void
stale(void *arg, const char *path, bool data)
{
	struct notifier *n = arg;
	bool stopped = false;
	LOCKED(&n->lock) {
		stopped = n->stopped;
		n->telling += !stopped;
	}
	if (stopped)
		return;
	tell_inodes(n, path, data);
	if (data)
		tell_name(n, path);
	LOCKED(&n->lock) {
		n->telling--;
		pthread_cond_broadcast(&n->idle);
	}
}

int
notifier_new(struct server *s, struct fuse_session *se, struct notifier **ret)
{
	struct notifier *n = calloc(1, sizeof *n);
	if (!n)
		return err_set(-ENOMEM, "no memory for a mount");
	n->server = s;
	n->se = se;
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->idle, NULL);
	mount_on_stale(s->mount, stale, n);
	*ret = n;
	return 0;
}

void
notifier_stop(struct notifier *n)
{
	LOCKED(&n->lock) {
		n->stopped = true;
		while (n->telling)
			pthread_cond_wait(&n->idle, &n->lock);
	}
}

struct notifier *
notifier_free(struct notifier *n)
{
	if (n) {
		pthread_cond_destroy(&n->idle);
		pthread_mutex_destroy(&n->lock);
	}
	free(n);
	return NULL;
}
