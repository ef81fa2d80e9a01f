/* Which host is asked, under which path, for which region. */
#include "backends/s3/address.h"

#include "test/check.h"

#include <errno.h>

struct row {
	const char *url, *endpoint, *region;
	enum zmap_addressing addressing;
	const char *want; /* where "k y" would be asked for, and " REGION"; NULL: refused */
};

#define PATH ZMAP_ADDRESSING_PATH
#define VIRTUAL ZMAP_ADDRESSING_VIRTUAL
#define AWS "amazonaws.com"

static const struct row rows[] = {
	{"s3://bucket/a/b.zarr", NULL, NULL, 0,
		"https://bucket.s3.us-east-1." AWS "/a/b.zarr/k%20y us-east-1"},
	{"s3://bucket", NULL, "eu-west-1", 0,
		"https://bucket.s3.eu-west-1." AWS "/k%20y eu-west-1"},
	{"s3://bucket/", NULL, "cn-north-1", 0,
		"https://bucket.s3.cn-north-1." AWS ".cn/k%20y cn-north-1"},
	{"s3://dotted.bucket/x", NULL, NULL, 0,
		"https://s3.us-east-1." AWS "/dotted.bucket/x/k%20y us-east-1"},
	{"s3://Upper/x", NULL, NULL, 0, "https://s3.us-east-1." AWS "/Upper/x/k%20y us-east-1"},
	{"s3://bucket/x", NULL, NULL, PATH,
		"https://s3.us-east-1." AWS "/bucket/x/k%20y us-east-1"},
	{"s3://bucket/a+b%20%25/c", NULL, NULL, 0,
		"https://bucket.s3.us-east-1." AWS "/a%2Bb%20%25/c/k%20y us-east-1"},
	/* another server */
	{"s3://bucket/x", "http://127.0.0.1:7480", NULL, 0,
		"http://127.0.0.1:7480/bucket/x/k%20y us-east-1"},
	{"s3://bucket/x", "http://HOST:80/", NULL, 0, "http://host/bucket/x/k%20y us-east-1"},
	{"s3://bucket/x", "https://host:443/s3/", NULL, 0,
		"https://host/s3/bucket/x/k%20y us-east-1"},
	{"s3://bucket/x", "https://host:9000", NULL, 0,
		"https://host:9000/bucket/x/k%20y us-east-1"},
	{"s3://bucket/x", "host:9000", NULL, 0, NULL},
	{"s3://bucket/x", "https://[::1]:9000", NULL, 0,
		"https://[::1]:9000/bucket/x/k%20y us-east-1"},
	{"s3://bucket/x", "https://s3.example.org", NULL, VIRTUAL,
		"https://bucket.s3.example.org/x/k%20y us-east-1"},
	{"s3://bucket/x", "https://s3.eu-west-3." AWS, NULL, 0,
		"https://bucket.s3.eu-west-3." AWS "/x/k%20y eu-west-3"},
	{"s3://bucket/x", "ftp://host", NULL, 0, NULL},
	{"s3://bucket/x", "https://user@host", NULL, 0, NULL},
	{"s3://bucket/x", "https://", NULL, 0, NULL},
	{"s3://bucket/x", "https://host?x=1", NULL, 0, NULL},
	{"s3://bucket/x", NULL, "not/one", 0, NULL},
	/* as netcdf-c writes them */
	{"https://bucket.s3.eu-central-1." AWS "/a/b", NULL, NULL, 0,
		"https://bucket.s3.eu-central-1." AWS "/a/b/k%20y eu-central-1"},
	{"https://bucket.s3." AWS "/a", NULL, "eu-west-2", 0,
		"https://bucket.s3." AWS "/a/k%20y eu-west-2"},
	{"https://s3.ap-south-1." AWS "/bucket/a/b", NULL, "eu-west-2", 0,
		"https://s3.ap-south-1." AWS "/bucket/a/b/k%20y ap-south-1"},
	{"https://s3." AWS "/bucket", NULL, NULL, 0, "https://s3." AWS "/bucket/k%20y us-east-1"},
	{"https://s3-us-west-2." AWS "/bucket/a", NULL, NULL, 0,
		"https://s3-us-west-2." AWS "/bucket/a/k%20y us-west-2"},
	{"https://a.b.s3.us-west-2." AWS "/x", NULL, NULL, 0,
		"https://a.b.s3.us-west-2." AWS "/x/k%20y us-west-2"},
	{"https://my.s3.bucket.s3.dualstack.us-west-2." AWS "/x", NULL, NULL, 0,
		"https://my.s3.bucket.s3.dualstack.us-west-2." AWS "/x/k%20y us-west-2"},
	{"https://bucket.s3-fips.us-gov-west-1." AWS "/x", NULL, NULL, 0,
		"https://bucket.s3-fips.us-gov-west-1." AWS "/x/k%20y us-gov-west-1"},
	{"https://bucket.s3.cn-north-1." AWS ".cn/x", NULL, NULL, 0,
		"https://bucket.s3.cn-north-1." AWS ".cn/x/k%20y cn-north-1"},
	{"https://s3." AWS, NULL, NULL, 0, NULL},
	{"https://.s3." AWS "/x", NULL, NULL, 0, NULL},
	{"https://ec2." AWS "/x", NULL, NULL, 0, NULL},
	{"http://localhost:9000/bucket/a/b#mode=zarr,s3", NULL, "mars-1", 0,
		"http://localhost:9000/bucket/a/b/k%20y mars-1"},
	{"https://host/bucket#mode=nczarr,s3", NULL, NULL, 0,
		"https://host/bucket/k%20y us-east-1"},
	{"https://host/#mode=s3", NULL, NULL, 0, NULL},
	{"https://bucket.host.org:81/a#mode=s3", NULL, NULL, VIRTUAL,
		"https://bucket.host.org:81/a/k%20y us-east-1"},
	{"https://host/bucket/x#mode=s3", "http://127.0.0.1:1", NULL, 0,
		"http://127.0.0.1:1/bucket/x/k%20y us-east-1"},
	/* Google's */
	{"gs://bucket/x", NULL, NULL, 0, "https://storage.googleapis.com/bucket/x/k%20y auto"},
	{"gs3://bucket/x", "http://127.0.0.1:7480", "us-east-1", 0,
		"http://127.0.0.1:7480/bucket/x/k%20y us-east-1"},
	{"https://storage.googleapis.com/bucket/x", NULL, NULL, 0,
		"https://storage.googleapis.com/bucket/x/k%20y auto"},
	{"https://bucket.storage.googleapis.com/x", NULL, NULL, 0,
		"https://bucket.storage.googleapis.com/x/k%20y auto"},
	{"https://.storage.googleapis.com/x", NULL, NULL, 0, NULL},
	{"https://xstorage.googleapis.com/x#mode=s3", NULL, NULL, 0, NULL},
};

static void
check_row(const struct row *w)
{
	struct url u;
	struct address a;
	const struct address_wishes wishes = {w->endpoint, w->region, w->addressing};
	CLEAN(buf_free) struct buf b = {0};
	int before = check_failed;
	CHECK_INT(url_parse(w->url, &u), 0);
	int r = address_find(&u, &wishes, &a);
	url_free(&u);
	CHECK_INT(r, w->want ? 0 : -EINVAL);
	if (r == 0) {
		CHECK_INT(address_base(&a, a.region, &b), 0);
		CHECK_INT(address_path(&a, "k y", &b), 0);
		CHECK_INT(buf_addf(&b, " %s", a.region), 0);
		CHECK_STR((char *)b.data, w->want ? w->want : "refused");
		address_free(&a);
	}
	if (check_failed > before)
		fprintf(stderr, "^ %s, endpoint %s\n", w->url, w->endpoint ? w->endpoint : "-");
}

/* Amazon's hosts follow the region that a server names; others stay. */
static void
check_moved(const char *url, const char *endpoint, const char *want)
{
	struct url u;
	struct address a;
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(url_parse(url, &u), 0);
	CHECK_INT(address_find(&u, &(struct address_wishes){.endpoint = endpoint}, &a), 0);
	CHECK_INT(address_base(&a, "eu-north-1", &b), 0);
	CHECK_INT(buf_add(&b, "", 1), 0);
	CHECK_STR((char *)b.data, want);
	address_free(&a);
	url_free(&u);
}

int
main(void)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		check_row(&rows[i]);
	check_moved("s3://bucket/x", NULL, "https://bucket.s3.eu-north-1." AWS);
	check_moved("https://bucket.s3." AWS "/x", NULL, "https://bucket.s3.eu-north-1." AWS);
	check_moved("https://s3.us-west-1." AWS "/bucket/x", NULL, "https://s3.eu-north-1." AWS);
	check_moved("s3://bucket/x", "http://host:9000", "http://host:9000");
	return check_end();
}
