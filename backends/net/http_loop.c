#include "backends/net/http_loop.h"

#include "backends/net/transfer.h"
#include "base/clean.h"
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

enum {
	TICK_MS = 100,
	IDLE_MS = 60000,
	FIRST = 32 /* attempts under way, until more show to be worth it */
};
static const double WORTH = 1.2; /* times as many answers, for half as many more attempts */

struct loop_line {
	struct client_attempt *first, **end;
};

struct http_loop {
	struct http_metrics *metrics;
	struct transfer_options options;
	CURLM *multi;
	pthread_t thread;
	bool running_thread;
	unsigned connections;
	atomic_bool reached;

	pthread_mutex_t lock;
	struct loop_line inbox; /* all below: guarded by lock */
	bool ending;
	unsigned allowed, credit; /* answers that asked for no patience since allowed grew */
	int64_t slowed;           /* when allowed was last cut */
	bool settled;  /* more under way at once brought no more answers, or complaints */
	unsigned most; /* that was ever allowed */
	int64_t since; /* when the first answer of credit could have come */
	double rate;   /* answers a nanosecond, when allowed grew last */
	unsigned running, waiting;

	struct loop_line line;          /* the thread's own: waiting for their turn */
	struct client_attempt **active; /* the thread's own: [running] */
	CURL **idle;                    /* the thread's own: handles that are not in use */
	unsigned idles;
};

static void
line_init(struct loop_line *l)
{
	l->first = NULL;
	l->end = &l->first;
}

static void
line_add(struct loop_line *l, struct client_attempt *a)
{
	a->next = NULL;
	*l->end = a;
	l->end = &a->next;
}

static struct client_attempt *
line_take(struct loop_line *l)
{
	struct client_attempt *a = l->first;
	if (a && !(l->first = a->next))
		l->end = &l->first;
	return a;
}

/* The first request that a caller waits for; else the first. */
static struct client_attempt *
line_next(struct loop_line *l)
{
	struct client_attempt **at = &l->first;
	while (*at && (*at)->ask->ahead && atomic_load((*at)->ask->ahead))
		at = &(*at)->next;
	struct client_attempt *a = *at;
	if (!a)
		return line_take(l);
	*at = a->next;
	if (!a->next)
		l->end = at;
	return a;
}

void
http_loop_start(struct http_loop *w, struct client_attempt *a)
{
	a->started = 0;
	a->enough = a->given_up = a->later = a->stuck = a->odd = false;
	a->err.code = 0;
	a->sent = a->uploaded = 0;
	a->marked = 0;
	LOCKED(&w->lock) {
		line_add(&w->inbox, a);
		w->waiting++;
	}
	curl_multi_wakeup(w->multi);
}

/* So many answers came while others waited in line as may be under way. If they came faster than
 * with fewer under way, half as many more may be. Once that is not so, or after an answer that asks
 * for patience (503, 429), one more at a time, up to what went well before. The lock is held. */
static void
grow(struct http_loop *w, int64_t now)
{
	double rate = (double)w->credit / (double)(now > w->since ? now - w->since : 1);
	if (w->settled) {
		w->allowed += w->allowed < w->most;
	} else if (rate > w->rate * WORTH) {
		w->rate = rate;
		w->allowed += w->allowed / 2;
		w->allowed = w->allowed < w->connections ? w->allowed : w->connections;
		w->most = w->allowed;
	} else {
		w->settled = true;
	}
	w->credit = 0;
	w->since = now;
}

void
http_loop_pace(struct http_loop *w, int64_t started, bool slower)
{
	LOCKED(&w->lock) {
		int64_t now = clock_now();
		if (slower && started > w->slowed) {
			w->allowed = w->allowed > 1 ? w->allowed / 2 : 1;
			w->credit = 0;
			w->settled = true;
			w->slowed = now;
			http_metrics_add(&w->metrics->slowed, 1);
		} else if (!slower && !w->settled && !w->waiting) { /* more are not wanted */
			w->credit = 0;
			w->since = now;
		} else if (!slower && ++w->credit >= w->allowed) {
			grow(w, now);
		}
	}
}

void
http_loop_reached(struct http_loop *w)
{
	atomic_store_explicit(&w->reached, true, memory_order_relaxed);
}

bool
http_loop_is_reached(const struct http_loop *w)
{
	return atomic_load_explicit(&w->reached, memory_order_relaxed);
}

void
http_loop_count(struct http_loop *w, unsigned *running, unsigned *waiting, unsigned *allowed)
{
	LOCKED(&w->lock) {
		*running = w->running;
		*waiting = w->waiting;
		*allowed = w->allowed;
	}
}

/* The attempt is the loop's no more. */
static void
finish(struct http_loop *w, struct client_attempt *a, bool was_running)
{
	LOCKED(&w->lock)
		was_running ? w->running-- : w->waiting--;
	a->ended(a);
}

static void
end_active(struct http_loop *w, unsigned i, CURLcode code)
{
	struct client_attempt *a = w->active[i];
	transfer_end(a, code, w->metrics);
	curl_multi_remove_handle(w->multi, a->easy);
	w->idle[w->idles++] = MOVE(a->easy);
	w->active[i] = w->active[w->running - 1];
	finish(w, a, true);
}

static void
end_waiting(struct http_loop *w, struct client_attempt *a)
{
	err_save(a->err.code, &a->err);
	finish(w, a, false);
}

static void
start(struct http_loop *w, struct client_attempt *a)
{
	a->easy = w->idles ? w->idle[--w->idles] : curl_easy_init();
	int r = a->easy ? transfer_begin(a, &w->options)
			: err_set(-ENOMEM, "no memory for a request");
	if (r == 0 && curl_multi_add_handle(w->multi, a->easy) != CURLM_OK)
		r = err_set(-ENOMEM, "curl does not take a request");
	if (r < 0) {
		if (a->easy)
			w->idle[w->idles++] = MOVE(a->easy);
		a->err.code = r;
		end_waiting(w, a);
		return;
	}
	a->started = a->heard = clock_now();
	LOCKED(&w->lock) {
		w->active[w->running++] = a;
		w->waiting--;
	}
}

/* Whether no caller waits for it any more. */
static bool
given_up(struct client_attempt *a, int64_t now)
{
	if (cancelled(a->ask->cancel))
		a->err.code = err_set(-EINTR, "no reader waits for it any more");
	else if (a->ask->deadline && now >= a->ask->deadline)
		a->err.code = err_set(-ETIMEDOUT, "no answer in time");
	else
		return false;
	return true;
}

/* Whether an answer has come by less than CLIENT_RATE for as long as it may stand still. */
static bool
crawls(struct client_attempt *a, int64_t now)
{
	int64_t span = now - a->marked;
	uint64_t came = a->sent - a->sent_then;
	bool marked = a->marked;
	if (!a->ask->into || !a->head.reply->status || (marked && span < a->patience / 2))
		return false;
	a->marked = now;
	a->sent_then = a->sent;
	if (!marked || (double)came * (double)SECOND >= (double)span * CLIENT_RATE)
		return false;
	a->err.code = err_set(-EIO, "the answer crawls: %" PRIu64 " bytes in %.1f s", came,
		(double)span / (double)SECOND);
	return true;
}

/* Whether this attempt has had its time. */
static bool
stuck(struct client_attempt *a, int64_t now)
{
	int64_t silent = now - a->heard;
	if (a->deadline && now >= a->deadline)
		a->err.code = err_set(-EIO, "no answer in time");
	else if (!a->head.reply->status && silent > a->patience)
		a->err.code =
			err_set(-EIO, "no answer for %.1f s", (double)silent / (double)SECOND);
	else if (a->head.reply->status && silent > a->patience / 2)
		a->err.code = err_set(-EIO, "the answer stands still for %.1f s",
			(double)silent / (double)SECOND);
	else if (!crawls(a, now))
		return false;
	a->later = a->stuck = true;
	return true;
}

static void
look_at_clock(struct http_loop *w)
{
	int64_t now = clock_now();
	for (unsigned i = w->running; i-- > 0;) {
		struct client_attempt *a = w->active[i];
		a->given_up = given_up(a, now) || stuck(a, now);
		if (a->given_up) {
			err_save(a->err.code, &a->err);
			end_active(w, i, CURLE_OK);
		}
	}
	struct loop_line still;
	line_init(&still);
	for (struct client_attempt *a; (a = line_take(&w->line));)
		if (given_up(a, now))
			end_waiting(w, a);
		else
			line_add(&still, a);
	for (struct client_attempt *a; (a = line_take(&still));)
		line_add(&w->line, a);
}

/* New ones into the line, and from its head to the network. False: the loop ends. */
static bool
take_in(struct http_loop *w)
{
	unsigned allowed = 0;
	bool ending = false;
	LOCKED(&w->lock) {
		for (struct client_attempt *a; (a = line_take(&w->inbox));)
			line_add(&w->line, a);
		allowed = w->allowed;
		ending = w->ending;
	}
	while (w->running < allowed && w->line.first)
		start(w, line_next(&w->line));
	return !ending;
}

static void
take_answers(struct http_loop *w)
{
	int left;
	for (CURLMsg *m; (m = curl_multi_info_read(w->multi, &left));) {
		if (m->msg != CURLMSG_DONE)
			continue;
		CURLcode code = m->data.result;
		for (unsigned i = 0; i < w->running; i++)
			if (w->active[i]->easy == m->easy_handle) {
				end_active(w, i, code);
				break;
			}
	}
}

static void *
work(void *arg)
{
	struct http_loop *w = arg;
	int64_t looked = 0;
	while (take_in(w)) {
		int running;
		curl_multi_perform(w->multi, &running);
		transfer_acknowledge(&w->options.sockets);
		take_answers(w);
		if (clock_now() - looked > TICK_MS * (SECOND / 1000)) {
			look_at_clock(w);
			looked = clock_now();
		}
		if (!take_in(w))
			break;
		bool busy = w->running || w->line.first;
		curl_multi_poll(w->multi, NULL, 0, busy ? TICK_MS : IDLE_MS, NULL);
	}
	return NULL;
}

static int
start_thread(struct http_loop *w)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&w->thread, NULL, work, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		return err_sys(r, "cannot start a thread");
	pthread_setname_np(w->thread, "zarrfs-net");
	w->running_thread = true;
	return 0;
}

static int
set_up(struct http_loop *w, const struct client_options *o)
{
	w->connections = o->connections ? o->connections : CLIENT_CONNECTIONS;
	w->allowed = w->most = w->connections < FIRST ? w->connections : FIRST;
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return err_set(-EIO, "curl does not start");
	int r = transfer_options(o, &w->options);
	if (r < 0)
		return r;
	w->multi = curl_multi_init();
	w->active = calloc(w->connections, sizeof *w->active);
	w->idle = calloc(w->connections + 1, sizeof *w->idle);
	if (!w->multi || !w->active || !w->idle)
		return err_set(-ENOMEM, "no memory for a client");
	curl_multi_setopt(w->multi, CURLMOPT_MAXCONNECTS, (long)w->connections);
	curl_multi_setopt(w->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	return start_thread(w);
}

int
http_loop_new(const struct client_options *o, struct http_metrics *g, struct http_loop **ret)
{
	int r = libcurl_load();
	struct http_loop *w = r < 0 ? NULL : calloc(1, sizeof *w);
	if (!w)
		return r < 0 ? r : err_set(-ENOMEM, "no memory for a client");
	w->metrics = g;
	pthread_mutex_init(&w->lock, NULL);
	line_init(&w->inbox);
	line_init(&w->line);
	r = set_up(w, o);
	if (r < 0) {
		http_loop_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

struct http_loop *
http_loop_free(struct http_loop *w)
{
	if (!w)
		return NULL;
	LOCKED(&w->lock)
		w->ending = true;
	if (w->running_thread) {
		curl_multi_wakeup(w->multi);
		pthread_join(w->thread, NULL);
	}
	for (unsigned i = 0; i < w->idles; i++)
		curl_easy_cleanup(w->idle[i]);
	curl_multi_cleanup(w->multi);
	transfer_options_free(&w->options);
	pthread_mutex_destroy(&w->lock);
	free(w->active);
	free(w->idle);
	free(w);
	return NULL;
}
