#include "backends/net/transfer.h"

#include "base/clean.h"
#include "base/list.h"
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECT_MS = 5000, BUFFER = 512 << 10, UNSENT = 128 << 10 };
/* An answer's uninteresting rest is read to its end if it is not longer: a new connection costs
 * more. */
enum { REST_MAX = 256 << 10 };

/* Debian's curl has a default CAPATH besides, which makes it read all certificates again for each
 * connection. One file is kept. */
static const char *const system_bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

int
transfer_options(const struct client_options *o, struct transfer_options *ret)
{
	const char *named = o->ca_bundle ? o->ca_bundle : getenv("AWS_CA_BUNDLE");
	*ret = (struct transfer_options){.insecure = o->tls_insecure};
	if (named && *named) {
		/* absolute: the daemon does not stay in this directory */
		ret->ca_file = realpath(named, NULL);
		if (!ret->ca_file || access(ret->ca_file, R_OK) != 0)
			return err_sys(errno, "cannot read the certificates in '%s'", named);
		return 0;
	}
	for (size_t i = 0; i < sizeof system_bundles / sizeof *system_bundles; i++)
		if (access(system_bundles[i], R_OK) == 0) {
			ret->ca_file = strdup(system_bundles[i]);
			return ret->ca_file ? 0 : err_set(-ENOMEM, "no memory for a name");
		}
	return 0;
}

void
transfer_options_free(struct transfer_options *o)
{
	free(o->ca_file);
	free(o->sockets.fd);
}

static bool
good(const struct client_attempt *a)
{
	int status = a->head.reply->status;
	return status == 200 || status == 206;
}

static size_t
on_line(char *line, size_t size, size_t n, void *arg)
{
	struct client_attempt *a = arg;
	a->heard = clock_now();
	head_line(&a->head, line, size * n);
	return size * n;
}

/* What the server says about a failure. */
static int
keep_text(struct buf *body, const char *data, size_t n)
{
	size_t room = body->len < CLIENT_BODY_MAX ? CLIENT_BODY_MAX - body->len : 0;
	int r = buf_add(body, data, n < room ? n : room);
	return r < 0 ? r : n > room ? BODY_ENOUGH : 0;
}

static size_t
on_bytes(char *data, size_t size, size_t n, void *arg)
{
	struct client_attempt *a = arg;
	size_t len = size * n;
	int r = 0;
	a->heard = clock_now();
	a->sent += len;
	if (!good(a))
		r = keep_text(&a->head.reply->body, data, len);
	else if (!a->body->begun)
		r = body_begin(a->body, &a->head);
	if (r == 0 && good(a))
		r = body_take(a->body, data, len);
	if (r == BODY_ENOUGH) {
		bool unsized =
			good(a) && !a->head.has_length; /* then only its end says how long it is */
		a->enough = !unsized;
		return unsized || (a->head.has_length && a->head.length - a->sent <= REST_MAX) ? len
											       : 0;
	}
	if (r < 0) {
		a->given_up = true;
		a->later = a->odd = r == -EIO;
		err_save(r, &a->err);
		return 0;
	}
	return len;
}

/* Bytes go out. Those that no attempt before had sent put the deadline off; while others are sent
 * again it moves along with the clock. */
static void
put_off(struct client_attempt *a, int64_t now)
{
	int64_t most = now + a->ask->put_off, until = *a->until + (now - a->heard);
	if (a->uploaded > a->furthest) {
		a->furthest = a->uploaded;
		until = most;
	}
	if (*a->until && *a->until < most)
		*a->until = until < most ? until : most;
}

static int
on_progress(void *arg, curl_off_t dltotal, curl_off_t dlnow, curl_off_t ultotal, curl_off_t ulnow)
{
	struct client_attempt *a = arg;
	const int64_t now = clock_now();
	(void)dltotal, (void)dlnow, (void)ultotal;
	if ((uint64_t)ulnow == a->uploaded)
		return 0;
	a->uploaded = (uint64_t)ulnow;
	if (a->ask->put_off)
		put_off(a, now);
	a->heard = now;
	return 0;
}

/* Before each request, also before those that curl sends again by itself. */
static int
on_request(void *arg, char *ip, char *local_ip, int port, int local_port)
{
	struct client_attempt *a = arg;
	(void)ip, (void)local_ip, (void)port, (void)local_port;
	a->requests++;
	return CURL_PREREQFUNC_OK;
}

/* Programs that this process starts need not have our connections. */
static curl_socket_t
open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *s)
{
	struct sockets *all = arg;
	(void)purpose;
	int fd = socket(s->family, s->socktype | SOCK_CLOEXEC, s->protocol);
	/* what curl calls sent is then on its way, and does not only lie in the kernel */
	if (fd >= 0)
		setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &(int){UNSENT}, sizeof(int));
	if (fd >= 0 && LIST_MORE(all->fd, all->n, "a socket") == 0)
		all->fd[all->n++] = fd;
	return fd;
}

static int
close_socket(void *arg, curl_socket_t fd)
{
	struct sockets *all = arg;
	for (size_t i = 0; i < all->n; i++)
		if (all->fd[i] == fd) {
			all->fd[i] = all->fd[--all->n];
			break;
		}
	return close(fd);
}

void
transfer_acknowledge(const struct sockets *all)
{
	for (size_t i = 0; i < all->n; i++)
		setsockopt(all->fd[i], IPPROTO_TCP, TCP_QUICKACK, &(int){1}, sizeof(int));
}

static void
set_usual(CURL *e, struct transfer_options *o)
{
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L); /* giving up does not wait for the resolver */
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(e, CURLOPT_BUFFERSIZE, (long)BUFFER);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e, CURLOPT_USERAGENT, "zarrfs/" ZARRFS_VERSION);
	curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
	if (o->ca_file)
		curl_easy_setopt(e, CURLOPT_CAINFO, o->ca_file);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, o->insecure ? 0L : 1L);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, o->insecure ? 0L : 2L);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, &o->sockets);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, &o->sockets);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_line);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(e, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_request);
}

static const char *
method(const struct client_ask *a)
{
	static const char *const usual[CLIENT_KINDS] = {
		[CLIENT_GET] = "GET",
		[CLIENT_HEAD] = "HEAD",
		[CLIENT_LIST] = "GET",
		[CLIENT_PUT] = "PUT",
		[CLIENT_DELETE] = "DELETE",
		[CLIENT_OTHER] = "GET",
	};
	return a->method ? a->method : usual[a->kind];
}

static void
set_method(CURL *e, const struct client_ask *a)
{
	const char *m = method(a);
	bool sends = !strcmp(m, "PUT") || !strcmp(m, "POST");
	if (!strcmp(m, "HEAD")) {
		curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
	} else if (sends) {
		curl_easy_setopt(e, CURLOPT_POST, 1L);
		curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)a->send.len);
		curl_easy_setopt(
			e, CURLOPT_POSTFIELDS, a->send.len ? (const char *)a->send.data : "");
		curl_easy_setopt(e, CURLOPT_NOPROGRESS, 0L);
	}
	if (strcmp(m, "GET") != 0 && strcmp(m, "HEAD") != 0)
		curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, m);
}

static int
add(struct client_attempt *a, const char *name, const char *value)
{
	return *value ? client_header(a, name, value) : 0;
}

/* What curl would say of itself: to wait for a "100 Continue", and that every body is a form. */
static int
drop_headers(struct client_attempt *a)
{
	bool typed = false;
	for (struct curl_slist *h = a->headers; h; h = h->next)
		typed = typed || !strncasecmp(h->data, "content-type:", 13);
	struct curl_slist *more = curl_slist_append(a->headers, "Expect:");
	if (more && !typed)
		more = curl_slist_append(more, "Content-Type:");
	if (!more)
		return err_set(-ENOMEM, "no memory for a header");
	a->headers = more;
	return 0;
}

/* The headers that are the client's. */
static int
add_headers(struct client_attempt *a)
{
	const struct client_ask *ask = a->ask;
	char range[BODY_RANGE];
	body_range(a->body, range);
	const char *match = a->body->got ? a->body->etag : ask->if_match;
	const char *none = a->body->got ? NULL : ask->if_none_match;
	int r = ask->into ? add(a, "Range", range) : 0;
	if (r == 0 && match)
		r = add(a, "If-Match", match);
	if (r == 0 && none)
		r = add(a, "If-None-Match", none);
	return r == 0 ? drop_headers(a) : r;
}

int
transfer_begin(struct client_attempt *a, struct transfer_options *o)
{
	CURL *e = a->easy;
	int r = a->url ? add_headers(a) : err_set(-EINVAL, "a request without a URL");
	if (r < 0)
		return r;
	*a->text = 0;
	curl_easy_reset(e);
	set_usual(e, o);
	set_method(e, a->ask);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, a);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, a);
	curl_easy_setopt(e, CURLOPT_XFERINFODATA, a);
	curl_easy_setopt(e, CURLOPT_PREREQDATA, a);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, a->text);
	curl_easy_setopt(e, CURLOPT_HTTPHEADER, a->headers);
	curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, (long)a->fresh);
	if (a->ask->nearby)
		curl_easy_setopt(e, CURLOPT_PROXY, "");
	return curl_easy_setopt(e, CURLOPT_URL, a->url) ? err_set(-ENOMEM, "no memory for a URL")
							: 0;
}

/* Failures that may pass. */
static bool
passing(CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
	case CURLE_PARTIAL_FILE:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR: return true;
	default: return false;
	}
}

static void
fail(struct client_attempt *a, CURLcode code)
{
	const char *why = *a->text ? a->text : curl_easy_strerror(code);
	bool begun = a->head.reply->status;
	int r = err_set(code == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EIO, "%s: %s",
		begun ? "the answer broke off" : "no answer", why);
	a->later = passing(code);
	err_save(r, &a->err);
}

static void
end_body(struct client_attempt *a)
{
	int r = 0;
	if (good(a) && !a->body->begun)
		r = body_begin(a->body, &a->head);
	if (r == 0 && good(a))
		r = body_end(a->body);
	if (r < 0) {
		a->later = a->odd = r == -EIO;
		err_save(r, &a->err);
	}
}

static void
set_size(struct client_attempt *a)
{
	const struct head *h = &a->head;
	struct client_reply *r = h->reply;
	r->sized = h->has_total || (r->status == 200 && h->has_length);
	r->size = h->has_total ? h->total : h->length;
	if (r->status == 200 && !h->has_length && !a->enough && !a->err.code &&
		a->ask->kind != CLIENT_HEAD) {
		r->sized = true;
		r->size = a->sent;
	}
}

static void
count(struct client_attempt *a, struct http_metrics *g, int64_t took)
{
	curl_off_t sent = 0;
	long connects = 0;
	curl_easy_getinfo(a->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
	curl_easy_getinfo(a->easy, CURLINFO_NUM_CONNECTS, &connects);
	http_metrics_add(&g->bytes_in, a->sent);
	http_metrics_add(&g->bytes_out, (unsigned long long)sent);
	http_metrics_add(&g->connects, (unsigned long long)connects);
	http_metrics_end(g, a->ask->kind, a->err.code < 0 || a->head.reply->status >= 500, took);
}

void
transfer_end(struct client_attempt *a, CURLcode code, struct http_metrics *g)
{
	if (!a->given_up && code != CURLE_OK && !(code == CURLE_WRITE_ERROR && a->enough))
		fail(a, code);
	else if (!a->given_up && !a->head.reply->status)
		fail(a, CURLE_GOT_NOTHING);
	else if (!a->given_up)
		end_body(a);
	set_size(a);
	int64_t took = clock_now() - a->started;
	count(a, g, took);
	log_debug("http: %s %s: %d, %" PRIu64 " bytes, %" PRId64 " us%s%s", method(a->ask), a->url,
		a->head.reply->status, a->sent, took / 1000, a->err.code ? ": " : "",
		a->err.code ? a->err.text : "");
}
