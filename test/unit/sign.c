/* SigV4 against what AWS publishes: the examples of the S3 manual ("Signature Calculations for the
 * Authorization Header"), and rows of AWS's test suite for the signing of any service. */
#include "backends/net/client.h"
#include "backends/s3/sign.h"

#include "test/check.h"

static const char secret[] = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

struct row {
	const char *method, *path, *query, *payload;
	struct sign_pair headers[8];
	const char *want; /* the signature */
};

#define HOST                                                                                       \
	{                                                                                          \
		"host", "examplebucket.s3.amazonaws.com"                                           \
	}
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define DATE                                                                                       \
	{                                                                                          \
		"x-amz-date", "20130524T000000Z"                                                   \
	}

static const struct row manual[] = {
	{"GET", "/test.txt", "", EMPTY,
		{HOST, {"range", "bytes=0-9"}, {"x-amz-content-sha256", EMPTY}, DATE},
		"f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
	{"PUT", "/test%24file.text", "",
		"44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
		{{"date", "Fri, 24 May 2013 00:00:00 GMT"}, HOST,
			{"x-amz-content-sha256",
				"44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"},
			DATE, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
		"98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
	{"GET", "/", "lifecycle=", EMPTY, {HOST, {"x-amz-content-sha256", EMPTY}, DATE},
		"fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
	{"GET", "/", "max-keys=2&prefix=J", EMPTY, {HOST, {"x-amz-content-sha256", EMPTY}, DATE},
		"34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
};

static size_t
count(const struct sign_pair *headers)
{
	size_t n = 0;
	while (n < 8 && headers[n].name)
		n++;
	return n;
}

static void
check_row(struct signer *s, const struct row *w, int64_t when, const struct s3_keys *k)
{
	CLEAN(buf_free) struct buf b = {0};
	const struct sign_request q = {
		w->method, w->path, w->query, w->headers, count(w->headers), w->payload, when};
	CHECK_INT(signer_sign(s, &q, "us-east-1", k, &b), 0);
	CHECK_INT(buf_terminate(&b), 0);
	const char *got = strstr((char *)b.data, "Signature=");
	CHECK_STR(got ? got + strlen("Signature=") : "", w->want);
}

static void
test_manual(void)
{
	struct s3_keys *k = keys_new("AKIAIOSFODNN7EXAMPLE", secret, NULL, INT64_MAX);
	struct signer *s = signer_new("s3");
	for (size_t i = 0; i < sizeof manual / sizeof *manual; i++)
		check_row(s, &manual[i], 1369353600, k);
	CLEAN(buf_free) struct buf b = {0};
	const struct row *w = manual;
	const struct sign_request q = {w->method, w->path, w->query, w->headers, count(w->headers),
		w->payload, 1369353600};
	CHECK_INT(signer_sign(s, &q, "us-east-1", k, &b), 0);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data,
		"AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
		"aws4_request, SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
		"Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
	signer_free(s);
	keys_unref(k);
}

#define SUITE_HOST                                                                                 \
	{                                                                                          \
		"host", "example.amazonaws.com"                                                    \
	}
#define SUITE_DATE                                                                                 \
	{                                                                                          \
		"x-amz-date", "20150830T123600Z"                                                   \
	}

static const struct row suite[] = {
	/* get-vanilla */
	{"GET", "/", "", EMPTY, {SUITE_HOST, SUITE_DATE},
		"5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	/* get-vanilla-query-order-key-case */
	{"GET", "/", "Param1=value1&Param2=value2", EMPTY, {SUITE_HOST, SUITE_DATE},
		"b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
	/* get-utf8 */
	{"GET", "/%E1%88%B4", "", EMPTY, {SUITE_HOST, SUITE_DATE},
		"8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
	/* post-vanilla */
	{"POST", "/", "", EMPTY, {SUITE_HOST, SUITE_DATE},
		"5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
	/* get-header-value-trim */
	{"GET", "/", "", EMPTY,
		{SUITE_HOST, {"my-header1", " value1"}, {"my-header2", " \"a   b   c\""},
			SUITE_DATE},
		"acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
	/* get-header-value-order */
	{"GET", "/", "", EMPTY,
		{SUITE_HOST, {"my-header1", "value4"}, {"my-header1", "value1"},
			{"my-header1", "value3"}, {"my-header1", "value2"}, SUITE_DATE},
		"08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"},
};

static void
test_suite(void)
{
	struct s3_keys *k = keys_new(
		"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", NULL, INT64_MAX);
	struct signer *s = signer_new("service");
	for (size_t i = 0; i < sizeof suite / sizeof *suite; i++)
		check_row(s, &suite[i], 1440938160, k);
	signer_free(s);
	keys_unref(k);
}

static void
check_encoded(const char *text, bool slash, const char *want)
{
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(client_encode(&b, text, strlen(text), slash), 0);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data, want);
}

static void
test_encoding(void)
{
	check_encoded("t2m/0.1", true, "t2m/0.1");
	check_encoded("a/b", false, "a%2Fb");
	check_encoded("a b+c%20=&?#;:@!$'()*,~-_.", true,
		"a%20b%2Bc%2520%3D%26%3F%23%3B%3A%40%21%24%27%28%29%2A%2C~-_.");
	check_encoded("\xc3\xa4\x7f\n\"<>[]\\^`{|}", true,
		"%C3%A4%7F%0A%22%3C%3E%5B%5D%5C%5E%60%7B%7C%7D");
	check_encoded("\xff", true, "%FF");
}

/* The order is that of what is sent: '%2F' before '-', '0' and 'a'; the empty name first. */
static void
test_query(void)
{
	struct sign_pair pairs[] = {{"prefix", "a b/"}, {"list-type", "2"}, {"prefix", ""},
		{"a-", "1"}, {"a/", "2"}, {"a", "3"}, {"a+", "4"}, {"Z", "~"}, {"a0", "5"}};
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(sign_query(pairs, sizeof pairs / sizeof *pairs, &b), 0);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data,
		"Z=~&a=3&a%2B=4&a%2F=2&a-=1&a0=5&list-type=2&prefix=&prefix=a%20b%2F");
}

/* The key of the day is kept, and not for others: each changed part gives another signature, the
 * first one comes back. */
static void
test_day_key(void)
{
	static const struct {
		int64_t when;
		const char *region, *secret;
	} rows[] = {
		{1369353600, "us-east-1", "one"},
		{1369353600, "eu-west-1", "one"},
		{1369353600, "us-east-1", "two"},
		{1369353600 + 86400, "us-east-1", "one"},
	};
	char before[4][128] = {0};
	struct signer *s = signer_new("s3");
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < 4; i++) {
			struct s3_keys *k = keys_new("ID", rows[i].secret, "", INT64_MAX);
			struct sign_pair headers[] = {HOST};
			const struct sign_request q = {
				"GET", "/", "", headers, 1, SIGN_UNSIGNED, rows[i].when};
			CLEAN(buf_free) struct buf b = {0};
			CHECK(!k->token);
			CHECK_INT(signer_sign(s, &q, rows[i].region, k, &b), 0);
			CHECK_INT(buf_terminate(&b), 0);
			const char *got = strstr((char *)b.data, "Signature=");
			if (round)
				CHECK_STR(got, before[i]);
			snprintf(before[i], sizeof before[i], "%s", got);
			for (size_t j = 0; j < i; j++)
				CHECK(strcmp(before[i], before[j]));
			keys_unref(k);
		}
	signer_free(s);
}

int
main(void)
{
	test_manual();
	test_suite();
	test_encoding();
	test_query();
	test_day_key();
	return check_end();
}
