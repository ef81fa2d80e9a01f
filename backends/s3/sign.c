#include "backends/s3/sign.h"

#include "backends/net/client.h"
#include "backends/s3/libcrypto.h"
#include "base/err.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { HASH = 32, DAY = 8, REGION = 64, ID = 256 };

struct signer {
	const char *service;
	pthread_mutex_t lock; /* guards all below */
	struct day_key {
		char day[DAY + 1], region[REGION], id[ID]; /* what it was made for */
		uint8_t check[HASH]; /* of the secret, which may change under one id */
		uint8_t key[HASH];
	} last;
};

struct signer *
signer_new(const char *service)
{
	struct signer *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->service = service;
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

struct signer *
signer_free(struct signer *s)
{
	if (!s)
		return NULL;
	pthread_mutex_destroy(&s->lock);
	explicit_bzero(s, sizeof *s);
	free(s);
	return NULL;
}

void
sign_date(int64_t when, char ret[SIGN_DATE])
{
	struct tm tm;
	time_t t = (time_t)when;
	if (!gmtime_r(&t, &tm) || !strftime(ret, SIGN_DATE, "%Y%m%dT%H%M%SZ", &tm))
		*ret = 0;
}

static void
hex(const uint8_t hash[HASH], char ret[SIGN_HASH])
{
	for (int i = 0; i < HASH; i++)
		snprintf(ret + 2 * i, 3, "%02x", hash[i]);
}

static int
hash(struct span s, uint8_t ret[HASH])
{
	int r = libcrypto_load();
	if (r < 0)
		return r;
	return EVP_Digest(
		       s.data ? s.data : (const uint8_t *)"", s.len, ret, NULL, EVP_sha256(), NULL)
		       ? 0
		       : err_set(-EIO, "libcrypto cannot compute SHA-256");
}

int
sign_hash(struct span s, char ret[SIGN_HASH])
{
	uint8_t h[HASH];
	int r = hash(s, h);
	if (r == 0)
		hex(h, ret);
	return r;
}

static int
hmac(struct span key, const char *text, uint8_t ret[HASH])
{
	uint8_t out[HASH];
	unsigned n = HASH;
	int r = libcrypto_load();
	if (r < 0)
		return r;
	if (!HMAC(EVP_sha256(), key.data, (int)key.len, (const uint8_t *)text, strlen(text), out,
		    &n))
		return err_set(-EIO, "libcrypto cannot compute HMAC-SHA-256");
	memcpy(ret, out, HASH); /* ret may be key */
	explicit_bzero(out, sizeof out);
	return 0;
}

static bool
unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

/* In the order of the encoded names. Where a character is encoded, '%' stands before letters,
 * digits and -._~ alike. */
static int
compare_encoded(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (!unreserved(*a) && !unreserved(*b) && *a && *b)
		return (unsigned char)*a - (unsigned char)*b;
	int left = !*a || unreserved(*a) ? (unsigned char)*a : '%';
	int right = !*b || unreserved(*b) ? (unsigned char)*b : '%';
	return left - right;
}

static int
compare_pairs(const void *a, const void *b)
{
	const struct sign_pair *p = a, *q = b;
	int names = compare_encoded(p->name, q->name);
	return names ? names : compare_encoded(p->value, q->value);
}

int
sign_query(struct sign_pair *pairs, size_t n, struct buf *ret)
{
	int r = 0;
	qsort(pairs, n, sizeof *pairs, compare_pairs);
	for (size_t i = 0; i < n && r == 0; i++) {
		r = i ? buf_add(ret, "&", 1) : 0;
		if (r == 0)
			r = client_encode(ret, pairs[i].name, strlen(pairs[i].name), false);
		if (r == 0)
			r = buf_add(ret, "=", 1);
		if (r == 0)
			r = client_encode(ret, pairs[i].value, strlen(pairs[i].value), false);
	}
	return r;
}

/* A header's value as it is signed: no blanks around it, one in a row between. */
static int
add_value(struct buf *to, const char *value)
{
	int r = 0;
	bool blank = false, any = false;
	for (const char *c = value; *c && r == 0; c++) {
		if (*c == ' ' || *c == '\t') {
			blank = any;
			continue;
		}
		if (blank)
			r = buf_add(to, " ", 1);
		if (r == 0)
			r = buf_add(to, c, 1);
		blank = false;
		any = true;
	}
	return r;
}

static int
add_names(struct buf *to, const struct sign_request *q)
{
	int r = 0;
	for (size_t i = 0; i < q->nheaders && r == 0; i++)
		if (!i || strcmp(q->headers[i].name, q->headers[i - 1].name))
			r = buf_addf(to, "%s%s", i ? ";" : "", q->headers[i].name);
	return r;
}

static int
add_canonical(struct buf *to, const struct sign_request *q)
{
	int r = buf_addf(to, "%s\n%s\n%s\n", q->method, q->path, q->query);
	for (size_t i = 0; i < q->nheaders && r == 0; i++) {
		bool more = i && !strcmp(q->headers[i].name, q->headers[i - 1].name);
		r = more ? buf_add(to, ",", 1)
			 : buf_addf(to, "%s%s:", i ? "\n" : "", q->headers[i].name);
		if (r == 0)
			r = add_value(to, q->headers[i].value);
	}
	if (r == 0)
		r = buf_add(to, "\n\n", 2);
	if (r == 0)
		r = add_names(to, q);
	return r < 0 ? r : buf_addf(to, "\n%s", q->payload);
}

static int
make_day_key(const struct signer *s, const char *secret, struct day_key *k)
{
	CLEAN(secret_buf_free) struct buf start = {0};
	int r = buf_addf(&start, "AWS4%s", secret);
	if (r == 0)
		r = hmac(buf_span(&start), k->day, k->key);
	if (r == 0)
		r = hmac((struct span){k->key, HASH}, k->region, k->key);
	if (r == 0)
		r = hmac((struct span){k->key, HASH}, s->service, k->key);
	if (r == 0)
		r = hmac((struct span){k->key, HASH}, "aws4_request", k->key);
	return r;
}

/* The key of this day, region and secret: the last one, or made and kept. */
static int
find_day_key(struct signer *s, const char *date, const char *region, const struct s3_keys *keys,
	struct day_key *ret)
{
	struct day_key k = {0};
	bool known = false;
	if (strlen(region) >= REGION || strlen(keys->id) >= ID)
		return err_set(-EINVAL, "the region or the access key is too long to be one");
	memcpy(k.day, date, DAY);
	memcpy(k.region, region, strlen(region));
	memcpy(k.id, keys->id, strlen(keys->id));
	int r = hash((struct span){(const uint8_t *)keys->secret, strlen(keys->secret)}, k.check);
	size_t same = offsetof(struct day_key, key);
	LOCKED(&s->lock) {
		known = !memcmp(&s->last, &k, same);
		if (known)
			k = s->last;
	}
	if (r == 0 && !known) {
		r = make_day_key(s, keys->secret, &k);
		if (r == 0)
			LOCKED(&s->lock)
				s->last = k;
	}
	if (r == 0)
		*ret = k;
	explicit_bzero(&k, sizeof k);
	return r;
}

int
signer_sign(struct signer *s, const struct sign_request *q, const char *region,
	const struct s3_keys *keys, struct buf *ret)
{
	CLEAN(secret_buf_free) struct buf text = {0};
	char date[SIGN_DATE], hashed[SIGN_HASH], signature[SIGN_HASH];
	struct day_key day = {0};
	uint8_t h[HASH];
	sign_date(q->when, date);
	int r = add_canonical(&text, q);
	if (r == 0)
		r = sign_hash(buf_span(&text), hashed);
	text.len = 0;
	if (r == 0)
		r = buf_addf(&text, "AWS4-HMAC-SHA256\n%s\n%.8s/%s/%s/aws4_request\n%s", date, date,
			region, s->service, hashed);
	if (r == 0)
		r = buf_terminate(&text);
	if (r == 0)
		r = find_day_key(s, date, region, keys, &day);
	if (r == 0)
		r = hmac((struct span){day.key, HASH}, (char *)text.data, h);
	explicit_bzero(&day, sizeof day);
	if (r < 0)
		return r;
	hex(h, signature);
	r = buf_addf(ret,
		"AWS4-HMAC-SHA256 Credential=%s/%.8s/%s/%s/aws4_request, SignedHeaders=", keys->id,
		date, region, s->service);
	if (r == 0)
		r = add_names(ret, q);
	return r < 0 ? r : buf_addf(ret, ", Signature=%s", signature);
}
