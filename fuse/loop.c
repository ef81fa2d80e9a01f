#include "fuse/loop.h"

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "fuse/fuse_abi.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

struct loop_worker {
	struct loop_worker *next;
	struct loop *loop;
	struct fuse_buf buf;
	pthread_t thread;
	bool left; /* it had no memory for a request; guarded by the loop's lock */
};

struct loop {
	struct fuse_session *session;
	unsigned most;        /* threads */
	atomic_uint idle;     /* threads that run no request */
	atomic_uint n;        /* threads; changes under the lock */
	atomic_bool said;     /* that one could not be begun, or has left */
	atomic_int error;     /* -errno of a read from the device that failed */
	sem_t ended;          /* a thread has */
	pthread_mutex_t lock; /* guards all below */
	struct loop_worker *workers;
	bool ending; /* no more threads are begun */
};

static void *work(void *);

/* The lock is held. 0, or -EIO. */
static int
start(struct loop *l)
{
	struct loop_worker *w = calloc(1, sizeof *w);
	if (!w)
		return err_set(-EIO, "no memory for a thread");
	w->loop = l;
	atomic_fetch_add(&l->idle, 1);
	int e = pthread_create(&w->thread, NULL, work, w);
	if (e) {
		atomic_fetch_sub(&l->idle, 1);
		free(w);
		err_sys(e, "cannot start a thread");
		return -EIO;
	}
	w->next = l->workers;
	l->workers = w;
	atomic_fetch_add(&l->n, 1);
	return 0;
}

/* Requests wait for the threads that there are: said once, with the thread's err_text. */
static void
say_few(struct loop *l)
{
	if (!atomic_exchange(&l->said, true))
		log_warn("requests have to do with %u threads: %s", atomic_load(&l->n), err_text());
}

static void
join(struct loop_worker *w)
{
	for (struct loop_worker *next; w; w = next) {
		next = w->next;
		pthread_join(w->thread, NULL);
		free(w->buf.mem);
		free(w);
	}
}

/* The lock is held. Those that have left, for join. */
static struct loop_worker *
take_left(struct loop *l)
{
	struct loop_worker *left = NULL;
	for (struct loop_worker **at = &l->workers, *w; (w = *at);)
		if (w->left) {
			*at = w->next;
			w->next = left;
			left = w;
		} else {
			at = &w->next;
		}
	return left;
}

/* All threads are busy: has one more wait at the device. */
static void
start_another(struct loop *l)
{
	struct loop_worker *left = NULL;
	int r = 0;
	LOCKED(&l->lock) {
		if (!l->ending && atomic_load(&l->n) < l->most) {
			left = take_left(l);
			r = start(l);
		}
	}
	if (r < 0)
		say_few(l);
	join(left);
}

/* A thread without memory for a request, which is to end. false: it is the last one. */
static bool
leave(struct loop_worker *w)
{
	struct loop *l = w->loop;
	bool left = false;
	LOCKED(&l->lock)
		if (!l->ending && atomic_load(&l->n) > 1) {
			atomic_fetch_sub(&l->n, 1);
			atomic_fetch_sub(&l->idle, 1);
			left = w->left = true;
		}
	if (left) {
		err_set(-ENOMEM, "no memory for a request");
		say_few(l);
	}
	return left;
}

/* The next request, in w->buf: its length; 0: the session has ended; -errno. Only here loop_run
 * cancels a thread. */
static int
receive(struct loop_worker *w)
{
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	int r = fuse_session_receive_buf(w->loop->session, &w->buf);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	return r;
}

static void *
work(void *arg)
{
	struct loop_worker *w = arg;
	struct loop *l = w->loop;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	while (!fuse_session_exited(l->session)) {
		int r = receive(w);
		if (r == -EINTR)
			continue;
		if (r == -ENOMEM && !w->buf.mem && leave(w))
			return NULL;
		if (r < 0 && !fuse_session_exited(l->session)) {
			atomic_store(&l->error, r);
			fuse_session_exit(l->session);
		}
		if (r <= 0)
			break;
		/* the kernel sends many at once, and they take no time */
		bool busy = !fuse_abi_forgets(w->buf.mem, r);
		if (busy && atomic_fetch_sub(&l->idle, 1) == 1 && atomic_load(&l->n) < l->most)
			start_another(l);
		fuse_session_process_buf(l->session, &w->buf);
		if (busy)
			atomic_fetch_add(&l->idle, 1);
	}
	sem_post(&l->ended);
	return NULL;
}

static void
end_all(struct loop *l)
{
	LOCKED(&l->lock)
		l->ending = true;
	for (struct loop_worker *w = l->workers; w; w = w->next)
		pthread_cancel(w->thread);
	join(l->workers);
}

int
loop_run(struct fuse_session *session, unsigned threads)
{
	struct loop l = {.session = session, .most = threads};
	int r;
	pthread_mutex_init(&l.lock, NULL);
	sem_init(&l.ended, 0, 0);
	LOCKED(&l.lock)
		r = start(&l);
	if (r == 0) {
		while (!fuse_session_exited(session))
			sem_wait(&l.ended);
		end_all(&l);
		r = fuse_session_loop(session); /* it has ended: what libfuse knows of why */
		if (r == 0)
			r = atomic_load(&l.error);
		if (r < 0)
			r = err_sys(-r, "the connection to the kernel is lost");
	}
	sem_destroy(&l.ended);
	pthread_mutex_destroy(&l.lock);
	return r;
}
