/* Listings, errors and credentials as servers write them, and as they should not. */
#include "backends/s3/provider.h"
#include "backends/s3/iso8601.h"
#include "backends/s3/xml.h"

#include "test/check.h"

#include <errno.h>

static struct span
text(const char *s)
{
	return (struct span){(const uint8_t *)s, strlen(s)};
}

/* "k:NAME:SIZE:VERSION " or "p:NAME " of each entry. */
static int
write_down(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	struct buf *b = arg;
	if (prefix)
		return buf_addf(b, "p:%s ", name);
	return buf_addf(b, "k:%s:%llu:%s ", name, (unsigned long long)s->size, s->version);
}

static void
check_page(
	const char *page, const char *prefix, int want, const char *entries, struct xml_page *ret)
{
	CLEAN(buf_free) struct buf b = {0};
	struct xml_page p = {0};
	CHECK_INT(xml_list(text(page), prefix, write_down, &b, &p), want);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data, entries);
	if (ret)
		*ret = p;
	else
		free(p.next);
}

#define HEAD                                                                                       \
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult "                           \
	"xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
#define TAIL "</ListBucketResult>"
#define KEY(k)                                                                                     \
	"<Contents><Key>" k "</Key><LastModified>2026-11-21T12:00:00.500Z</LastModified>"          \
	"<ETag>&#34;abc&quot;</ETag><Size>7</Size><Owner><ID>x</ID></Owner></Contents>"
#define PREFIX(p) "<CommonPrefixes><Prefix>" p "</Prefix></CommonPrefixes>"

static void
test_pages(void)
{
	struct xml_page p;
	check_page(HEAD "<Name>b</Name><Prefix>a/</Prefix><KeyCount>2</KeyCount><IsTruncated>true</"
			"IsTruncated>"
			"<NextContinuationToken>a&amp;b+%20=</NextContinuationToken>" KEY("a/x")
				PREFIX("a/d/") TAIL,
		"a/", 0, "k:x:7:\"abc\" p:d ", &p);
	CHECK(p.truncated);
	CHECK_STR(p.next, "a&b+%20=");
	CHECK_INT(p.entries, 2);
	free(p.next);
	/* encoded, wherever it is said; '+' is a blank */
	check_page(HEAD KEY("a%2F%C3%A4+b%2Bc%2525")
			   PREFIX("a%2Fd+e%2F") "<EncodingType>url</EncodingType>" TAIL,
		"a/", 0, "k:\xc3\xa4 b+c%25:7:\"abc\" p:d e ", NULL);
	check_page(HEAD KEY("a+b%20") TAIL, "", 0, "k:a+b%20:7:\"abc\" ", NULL);
	/* the prefix itself, what was not asked for, and nothing */
	check_page(HEAD KEY("a/") KEY("b/x") TAIL, "a/", 0, "", &p);
	CHECK_INT(p.seen, 2);
	CHECK_INT(p.entries, 0);
	CHECK(!p.truncated && !p.next);
	check_page(HEAD TAIL, "a/", 0, "", &p);
	CHECK_INT(p.seen, 0);
	/* elements within entries that are called like others */
	check_page(HEAD "<Contents><Owner><Key>no</Key></Owner><Key>yes</Key></Contents>" TAIL, "",
		0, "k:yes:0: ", NULL);
}

static int
stop(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	++*(int *)arg;
	return -ECANCELED;
}

static void
test_bad_pages(void)
{
	int calls = 0;
	struct xml_page p = {0};
	CHECK_INT(xml_list(text(HEAD KEY("a") KEY("b") TAIL), "", stop, &calls, &p), -ECANCELED);
	CHECK_INT(calls, 1);
	check_page("", "", -EIO, "", NULL);
	check_page("<html><body>hello</body></html>", "", -EIO, "", NULL);
	check_page(HEAD KEY("a"), "", -EIO, "k:a:7:\"abc\" ", NULL);
	check_page("<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>" HEAD KEY("&b;") TAIL,
		"", -EIO, "", NULL);
	check_page(HEAD KEY("a&#0;b") TAIL, "", -EIO, "", NULL);
	check_page(HEAD KEY("a%00b") KEY("c") "<EncodingType>url</EncodingType>" TAIL, "", 0,
		"k:c:7:\"abc\" ", NULL);
}

static void
test_fields(void)
{
	static struct xml_field f[3] = {{.name = "Code"}, {.name = "Message"}, {.name = "Region"}};
	CHECK_INT(xml_fields(text("<Error><Code>NoSuchKey</Code><Message>a &lt; b</Message>"
				  "<Code>second</Code></Error>"),
			  f, 3),
		0);
	CHECK_STR(f[0].text, "NoSuchKey");
	CHECK_STR(f[1].text, "a < b");
	CHECK_STR(f[2].text, "");
	CHECK_INT(xml_fields(text("<ErrorResponse><Error><Code>Expired"), f, 3), -EINVAL);
	CHECK_STR(f[0].text, "Expired");
	CHECK_INT(xml_fields(text("502 Bad Gateway"), f, 3), -EINVAL);
	CHECK_STR(f[0].text, "");
}

static void
test_keys(void)
{
	struct s3_keys *k = NULL;
	CHECK_INT(provider_read_json(text("{\"Version\": 1, \"AccessKeyId\": \"AK\", "
					  "\"SecretAccessKey\": \"s\\/e+c=\", "
					  "\"SessionToken\": \"t\\u0041\", \"Expiration\": "
					  "\"2026-11-21T12:00:00Z\"}"),
			  &k),
		0);
	CHECK_STR(k->id, "AK");
	CHECK_STR(k->secret, "s/e+c=");
	CHECK_STR(k->token, "tA");
	CHECK_INT(k->expires / 1000000000, 1795262400);
	k = keys_unref(k);
	CHECK_INT(provider_read_json(text("{\"AccessKeyId\": \"AK\", \"SecretAccessKey\": \"s\", "
					  "\"Token\": \"\"}"),
			  &k),
		0);
	CHECK(!k->token && k->expires == INT64_MAX);
	k = keys_unref(k);
	static const char *const bad[] = {"", "[]", "{}", "{\"AccessKeyId\": \"topsecret\"}",
		"{\"AccessKeyId\": 7, \"SecretAccessKey\": \"topsecret\"}",
		("{\"AccessKeyId\": \"a\", \"SecretAccessKey\": \"topsecret\", \"Expiration\": "
		 "\"soon\"}"),
		"{\"AccessKeyId\": \"a\", \"SecretAccessKey\": \"topsecret"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		CHECK_INT(provider_read_json(text(bad[i]), &k), -EINVAL);
		CHECK(!strstr(err_text(), "topsecret"));
	}
	CHECK_INT(provider_read_xml(text("<AssumeRoleWithWebIdentityResponse><"
					 "AssumeRoleWithWebIdentityResult><Credentials>"
					 "<SessionToken>tok</SessionToken><SecretAccessKey>sec</"
					 "SecretAccessKey>"
					 "<Expiration>2026-11-21T13:00:00+01:00</"
					 "Expiration><AccessKeyId>AK</AccessKeyId>"
					 "</Credentials></AssumeRoleWithWebIdentityResult></"
					 "AssumeRoleWithWebIdentityResponse>"),
			  &k),
		0);
	CHECK_STR(k->secret, "sec");
	CHECK_STR(k->token, "tok");
	CHECK_INT(k->expires / 1000000000, 1795262400);
	k = keys_unref(k);
	CHECK_INT(provider_read_xml(text("<ErrorResponse><Error/></ErrorResponse>"), &k), -EINVAL);
}

int
main(void)
{
	test_pages();
	test_bad_pages();
	test_fields();
	test_keys();
	CHECK_INT(iso8601_parse("2026-11-21T12:00:00Z"), 1795262400000000000);
	CHECK_INT(iso8601_parse("2026-11-21T12:00:00.25Z"), 1795262400250000000);
	CHECK_INT(iso8601_parse("2026-11-21T07:00:00-05:00"), 1795262400000000000);
	CHECK_INT(iso8601_parse("yesterday"), 0);
	CHECK_INT(iso8601_parse("2026-11-21T12:00:00 or so"), 0);
	return check_end();
}
