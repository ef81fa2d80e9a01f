#include "backends/s3/address.h"

#include "backends/net/client.h"
#include "base/err.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char amazon_domain[] = ".amazonaws.com";
static const char china_domain[] = ".amazonaws.com.cn";
static const char google_host[] = "storage.googleapis.com";
static const char standard_region[] = "us-east-1";
static const char google_region[] = "auto";

static int
set(char **to, const char *text, size_t len)
{
	free(*to);
	*to = strndup(text, len);
	return *to ? 0 : err_set(-ENOMEM, "no memory for an address");
}

static bool
ends_in(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);
	return len >= n && !strncasecmp(s + len - n, end, n);
}

bool
address_is_region(const char *region)
{
	size_t n = strlen(region);
	for (const char *c = region; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_')
			return false;
	return n > 0 && n < 64;
}

/* Names that can stand before a host name: the rules of DNS, which S3 demands of new buckets. A dot
 * in one would be beyond the certificate of *.s3.amazonaws.com. */
static bool
fits_host(const char *bucket)
{
	size_t n = strlen(bucket);
	for (const char *c = bucket; *c; c++)
		if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '-')
			return false;
	return n >= 3 && n <= 63 && *bucket != '-' && bucket[n - 1] != '-';
}

/* "/bucket/a/b" → "bucket" and "a/b/". */
static int
take_bucket(const char *path, struct address *p)
{
	path += *path == '/';
	size_t n = strcspn(path, "/");
	int r = set(&p->bucket, path, n);
	if (r == 0 && !n)
		r = err_set(-EINVAL, "the URL names no bucket");
	return r;
}

static int
set_prefix(struct address *p, const char *path)
{
	while (*path == '/')
		path++;
	size_t n = strlen(path);
	while (n && path[n - 1] == '/')
		n--;
	free(p->prefix);
	p->prefix = malloc(n + 2);
	if (!p->prefix)
		return err_set(-ENOMEM, "no memory for a prefix");
	memcpy(p->prefix, path, n);
	p->prefix[n] = n ? '/' : 0;
	p->prefix[n + 1] = 0;
	return 0;
}

static const char *
behind_bucket(const char *path)
{
	path += *path == '/';
	return path + strcspn(path, "/");
}

/* How much of the host's name is Amazon's domain; 0: it is no host of Amazon's. */
static size_t
amazon_domain_length(const char *host, size_t len)
{
	if (ends_in(host, len, china_domain))
		return sizeof china_domain - 1;
	return ends_in(host, len, amazon_domain) ? sizeof amazon_domain - 1 : 0;
}

/* The label of Amazon's that says "s3", from the right: "s3", or "s3-REGION" as older names have
 * it. */
static const char *
find_s3(const char *host, size_t len)
{
	for (size_t at = len; at-- > 0;) {
		bool begins = !at || host[at - 1] == '.';
		size_t rest = len - at;
		if (begins && rest >= 2 && !strncasecmp(host + at, "s3", 2) &&
			(rest == 2 || host[at + 2] == '.' || host[at + 2] == '-'))
			return host + at;
	}
	return NULL;
}

/* What stands behind "s3" in the host's name: ".dualstack.eu-west-1", "-us-west-2", "" … */
static int
region_of(const char *text, size_t len, struct address *p)
{
	static const char *const words[] = {
		"dualstack", "accelerate", "fips", "website", "external-1"};
	while (len && (*text == '.' || *text == '-')) {
		bool word = false;
		text++;
		len--;
		for (size_t i = 0; i < sizeof words / sizeof *words && !word; i++) {
			size_t n = strlen(words[i]);
			word = len >= n && !strncasecmp(text, words[i], n) &&
			       (len == n || text[n] == '.' || text[n] == '-');
			text += word ? n : 0;
			len -= word ? n : 0;
		}
		if (!word)
			return set(&p->region, text, len);
	}
	return 0;
}

/* What stands before the server's own name, as a bucket: "bucket." of "bucket.s3.amazonaws.com";
 * else the first part of the path. */
static int
find_bucket(const struct url *u, size_t before, struct address *p)
{
	if (before && (before == 1 || u->host[before - 1] != '.'))
		return err_set(-EINVAL, "'%s' is no bucket's host", u->host);
	p->virtual_host = before > 0;
	int r = before ? set(&p->bucket, u->host, before - 1) : take_bucket(u->path, p);
	return r < 0 ? r : set_prefix(p, before ? u->path : behind_bucket(u->path));
}

/* "bucket.s3.region.amazonaws.com/prefix" or "s3.region.amazonaws.com/bucket/prefix". The host is
 * asked as it stands. */
static int
amazon_url(const struct url *u, size_t len, size_t domain, struct address *p)
{
	const char *s3 = find_s3(u->host, len - domain);
	if (!s3)
		return err_set(-EINVAL, "'%s' is no host of S3", u->host);
	size_t before = (size_t)(s3 - u->host);
	int r = region_of(s3 + 2, len - domain - before - 2, p);
	if (r == 0)
		r = set(&p->host, s3, strlen(s3));
	p->amazon = true;
	return r < 0 ? r : find_bucket(u, before, p);
}

static int
google_url(const struct url *u, size_t len, struct address *p)
{
	size_t before = len - (sizeof google_host - 1);
	int r = set(&p->host, u->host + before, strlen(u->host + before));
	return r < 0 ? r : find_bucket(u, before, p);
}

/* Any other host: "host/bucket/prefix", or, where that is asked for, "bucket.host/prefix". */
static int
other_url(const struct url *u, const struct address_wishes *w, struct address *p)
{
	const char *dot = strchr(u->host, '.');
	p->virtual_host = w->addressing == ZMAP_ADDRESSING_VIRTUAL;
	if (p->virtual_host && (!dot || dot == u->host))
		return err_set(-EINVAL, "'%s' has no bucket in its name", u->host);
	const char *host = p->virtual_host ? dot + 1 : u->host;
	int r = set(&p->host, host, strlen(host));
	if (r == 0)
		r = p->virtual_host ? set(&p->bucket, u->host, (size_t)(dot - u->host))
				    : take_bucket(u->path, p);
	return r < 0 ? r : set_prefix(p, p->virtual_host ? u->path : behind_bucket(u->path));
}

static int
http_url(const struct url *u, const struct address_wishes *w, struct address *p)
{
	size_t len = strcspn(u->host, ":");
	p->plain_http = !strcmp(u->scheme, "http");
	if (*u->query)
		return err_set(-EINVAL, "a URL of an S3 store has no query");
	size_t domain = amazon_domain_length(u->host, len);
	if (domain)
		return amazon_url(u, len, domain, p);
	p->google = p->google || ends_in(u->host, len, google_host);
	return ends_in(u->host, len, google_host) ? google_url(u, len, p) : other_url(u, w, p);
}

/* "s3://bucket/prefix": the host is to be found elsewhere. */
static int
bucket_url(const struct url *u, const struct address_wishes *w, struct address *p)
{
	int r = set(&p->bucket, u->host, strlen(u->host));
	if (r == 0)
		r = set_prefix(p, u->path);
	if (r == 0 && p->google)
		r = set(&p->host, google_host, sizeof google_host - 1);
	p->amazon = !p->google;
	p->virtual_host =
		p->amazon && fits_host(p->bucket) && w->addressing != ZMAP_ADDRESSING_PATH;
	if (r == 0 && w->addressing == ZMAP_ADDRESSING_VIRTUAL)
		p->virtual_host = true;
	return r;
}

static bool
printable(const char *text)
{
	while (*text > ' ' && *text < 0x7f)
		text++;
	return !*text;
}

/* "http[s]://host[:port][/path]" → its host and path, and whether it is http. */
static int
parse_endpoint(const char *text, struct address *p)
{
	const char *scheme = strstr(text, "://"), *host = scheme ? scheme + 3 : text;
	p->plain_http = scheme && !strncasecmp(text, "http://", 7);
	if (scheme && !p->plain_http && strncasecmp(text, "https://", 8) != 0)
		return err_set(-EINVAL, "endpoint '%s' is neither http nor https", text);
	size_t n = strcspn(host, "/"), len = strlen(host);
	while (len > n && host[len - 1] == '/')
		len--;
	if (!scheme && printable(text) && !strpbrk(text, "@?#\\\"<>%"))
		return err_set(
			-EINVAL, "endpoint '%s' has no scheme: write 'https://%s'", text, text);
	if (!n || strcspn(host, "@?#\\\"<>%") < len || !printable(host))
		return err_set(-EINVAL, "endpoint '%s' is no 'https://host:port'",
			strchr(text, '@') ? "…" : text);
	int r = set(&p->host, host, n);
	return r < 0 ? r : set(&p->path, host + n, len - n);
}

/* Another endpoint than the URL's own, or one where the URL has none. */
static int
use_endpoint(const char *text, const struct address_wishes *w, struct address *p)
{
	p->amazon = false;
	p->virtual_host = w->addressing == ZMAP_ADDRESSING_VIRTUAL;
	int r = parse_endpoint(text, p);
	if (r < 0 || *p->path)
		return r;
	size_t len = strcspn(p->host, ":"), domain = amazon_domain_length(p->host, len);
	if (!domain)
		return 0;
	p->amazon = true;
	p->virtual_host = fits_host(p->bucket) && w->addressing != ZMAP_ADDRESSING_PATH;
	return find_s3(p->host, len) == p->host ? region_of(p->host + 2, len - domain - 2, p) : 0;
}

/* As it will stand in the Host header: lower case, without the port that goes without saying. */
static void
tidy_host(struct address *p)
{
	char *port = p->host ? strrchr(p->host, ':') : NULL;
	for (char *c = p->host; c && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (port && !strcmp(port, p->plain_http ? ":80" : ":443"))
		*port = 0;
}

/* The region that the host's name says, or is wished for, or is the server's usual one. */
static int
settle_region(const char *wish, struct address *p)
{
	const char *usual = p->google ? google_region : standard_region;
	const char *region = wish && *wish ? wish : usual;
	int r = p->region && *p->region ? 0 : set(&p->region, region, strlen(region));
	if (r == 0 && !address_is_region(p->region))
		r = err_set(-EINVAL, "'%.64s' cannot be the name of a region", p->region);
	return r;
}

int
address_find(const struct url *u, const struct address_wishes *w, struct address *ret)
{
	struct address p = {0};
	bool http = !strcmp(u->scheme, "http") || !strcmp(u->scheme, "https");
	p.google = !strcmp(u->scheme, "gs") || !strcmp(u->scheme, "gs3") || u->mode & URL_GS3;
	int r = set(&p.path, "", 0);
	if (r == 0)
		r = http ? http_url(u, w, &p) : bucket_url(u, w, &p);
	if (r == 0 && w->endpoint && *w->endpoint)
		r = use_endpoint(w->endpoint, w, &p);
	tidy_host(&p);
	if (r == 0)
		r = settle_region(w->region, &p);
	if (r == 0 && p.virtual_host && (strpbrk(p.bucket, "/:@?#%") || !printable(p.bucket)))
		r = err_set(-EINVAL, "bucket '%s' cannot be part of a host's name", p.bucket);
	if (r < 0)
		address_free(&p);
	else
		*ret = p;
	return r;
}

void
address_free(struct address *p)
{
	free(p->host);
	free(p->path);
	free(p->bucket);
	free(p->prefix);
	free(p->region);
	*p = (struct address){0};
}

int
address_host(const struct address *p, const char *region, struct buf *ret)
{
	const char *bucket = p->virtual_host ? p->bucket : "", *dot = p->virtual_host ? "." : "";
	if (p->host && (!p->amazon || !strcmp(region, p->region)))
		return buf_addf(ret, "%s%s%s", bucket, dot, p->host);
	return buf_addf(ret, "%s%ss3.%s.amazonaws.com%s", bucket, dot, region,
		strncmp(region, "cn-", 3) ? "" : ".cn");
}

int
address_base(const struct address *p, const char *region, struct buf *ret)
{
	int r = buf_addf(ret, "%s://", p->plain_http ? "http" : "https");
	return r < 0 ? r : address_host(p, region, ret);
}

static int
add_encoded(struct buf *to, const char *text, bool slash)
{
	return client_encode(to, text, strlen(text), slash);
}

int
address_path(const struct address *p, const char *key, struct buf *ret)
{
	int r = buf_addf(ret, "%s/", p->path);
	if (r == 0 && !p->virtual_host)
		r = add_encoded(ret, p->bucket, false);
	if (r == 0 && !p->virtual_host && *key)
		r = buf_add(ret, "/", 1);
	if (r == 0 && *key)
		r = add_encoded(ret, p->prefix, true);
	return r < 0 ? r : add_encoded(ret, key, true);
}
