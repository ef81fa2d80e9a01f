/* Files of Icechunk repositories: what unpacking takes besides the bytes themselves, and what a
 * configuration says of containers. */
#include "backends/icechunk/file.h"
#include "backends/icechunk/places.h"

#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { HEAD = 39, BYTES = 20 << 20 };

/* A file of n bytes as writers make them: a frame that does not say its size. */
static void
pack(const uint8_t *data, size_t n, struct buf *ret)
{
	static const uint8_t magic[] = {
		0x49, 0x43, 0x45, 0xf0, 0x9f, 0xa7, 0x8a, 0x43, 0x48, 0x55, 0x4e, 0x4b};
	const size_t most = HEAD + ZSTD_compressBound(n);
	ZSTD_CStream *z = ZSTD_createCStream();
	CHECK_INT(buf_reserve(ret, most), 0);
	memset(ret->data, ' ', HEAD);
	memcpy(ret->data, magic, sizeof magic);
	ret->data[36] = 2;
	ret->data[37] = ICE_MANIFEST;
	ret->data[38] = 1;
	ZSTD_outBuffer to = {ret->data, most, HEAD};
	ZSTD_inBuffer from = {data, n, 0};
	while (from.pos < n)
		ZSTD_compressStream(z, &to, &from);
	CHECK_INT(ZSTD_endStream(z, &to), 0);
	ZSTD_freeCStream(z);
	ret->len = to.pos;
}

/* Half noise, half of it the same again. */
static uint8_t *
make(size_t n)
{
	uint8_t *p = malloc(n);
	uint32_t x = 1;
	for (size_t i = 0; p && i < n; i++) {
		x = x * 1664525 + 1013904223;
		p[i] = i % 2 ? p[i - 1] : (uint8_t)(x >> 24);
	}
	return p;
}

static void
test_room(void)
{
	CLEAN(buf_free) struct buf file = {0}, out = {0};
	uint8_t *data = make(BYTES);
	pack(data, BYTES, &file);
	CHECK_INT(ice_unpack(buf_span(&file), ICE_MANIFEST, SIZE_MAX / 2, &out), 0);
	CHECK_INT(out.len, BYTES);
	CHECK(out.len == BYTES && !memcmp(out.data, data, BYTES));
	CHECK(out.cap < BYTES + BYTES / 8);
	buf_free(&out);
	CHECK_INT(ice_unpack(buf_span(&file), ICE_MANIFEST, BYTES, &out), 0);
	buf_free(&out);
	CHECK_INT(ice_unpack(buf_span(&file), ICE_MANIFEST, BYTES / 2, &out), -EFBIG);
	for (size_t cut = 1; cut < file.len - HEAD; cut = 3 * cut + 1)
		CHECK_INT(ice_unpack((struct span){file.data, file.len - cut}, ICE_MANIFEST,
				  SIZE_MAX / 2, &out),
			-EIO);
	free(data);
}

/* What says that it comes to much more than it is takes no memory before it does. */
static void
test_claims(void)
{
	CLEAN(buf_free) struct buf file = {0}, out = {0};
	pack((const uint8_t *)"", 0, &file);
	file.len = HEAD;
	CHECK_INT(buf_add(&file, "\x28\xb5\x2f\xfd\0\x58", 6), 0); /* a frame's head, of any size */
	for (unsigned i = 0; i < 1 << 16; i++)
		CHECK_INT(buf_add(&file, "\x02\0\x10\0", 4), 0); /* 128 KiB of one byte */
	CHECK_INT(ice_unpack(buf_span(&file), ICE_MANIFEST, 64 << 20, &out), -EFBIG);
}

/* {"virtual_chunk_containers": {"a": {"name": "far", "url_prefix": "s3://b/p", "store": {"s3":
 * {"anonymous": true, "region": "eu-1"}}}, "b": {"name": null, "url_prefix": "s3://b/p/q/"}}} */
static const char config[] = "7669727475616c5f6368756e6b5f636f6e7461696e65727300610062006e616d65007"
			     "3746f72650075726c5f70726566697800000300000066617200"
			     "733300616e6f6e796d6f757300726567696f6e000400000065752d310000000002000"
			     "000210000001b00000008000000040000000200000001000000"
			     "240000006a16000001000000480000000400000004000000010000002000000026000"
			     "0000800000073333a2f2f622f70000000000300000093000000"
			     "92000000900000000c000000040000000300000090000000380000003000000016261"
			     "66e616d650075726c5f70726566697800000b00000073333a2f"
			     "2f622f702f712f0002000000250000002400000008000000040000000200000000000"
			     "000280000000216000002000000070100000901000008000000"
			     "04000000020000006c000000280000002626000001000000440100000400000004000"
			     "000010000002000000026000000080000002604";

/* What a chunk at the URL is said to mean, and what is proposed; "": nothing. */
static void
check_place(const struct ice_places *p, const char *url, const char *meant, const char *proposal)
{
	struct chunk_place c = {.kind = PLACE_URL, .name = strdup(url)};
	CHECK_INT(ice_places_apply(p, &c), 0);
	CHECK_STR(c.meant ? c.meant : "", meant);
	CHECK_STR(c.proposal ? c.proposal : "", proposal);
	CHECK(!c.meant == !*c.version);
	chunk_place_free(&c);
}

static void
check_prefix(const char *prefix, const char *url, bool within)
{
	const struct ice_place said = {.prefix = {(const uint8_t *)prefix, strlen(prefix)}};
	struct ice_places *p = NULL;
	CHECK_INT(ice_places_new(NULL, (struct span){0}, &p), 0);
	CHECK_INT(ice_places_add(p, &said), 0);
	check_place(p, url, "", within ? prefix : "");
	ice_places_free(p);
}

/* Prefixes are brought into the form in which locations are compared. */
static void
test_prefixes(void)
{
	check_prefix("s3://b/a%20b/", "s3://b/a b/x", true);
	check_prefix("s3://b/a b/", "s3://b/a%20b/x", true);
	check_prefix("S3://B/a", "s3://b/a/x", true);
	check_prefix("s3://b/A", "s3://b/a/x", false);
	check_prefix("file:///d/./e//", "file:///d/e/x", true);
	check_prefix("file:///d", "file:///d/../x", false);
	check_prefix("file:///d", "file:///d/e/../x", true);
	check_prefix("nothing", "nothing/x", false);
}

static void
test_places(void)
{
	static const char far[] = "s3://b/p (the repository says: region eu-1 anonymous)";
	uint8_t bytes[sizeof config / 2];
	struct ice_places *p = NULL;
	for (size_t i = 0; i < sizeof bytes; i++) {
		const char digits[] = {config[2 * i], config[2 * i + 1], 0};
		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	CHECK_INT(ice_places_new(ice_config_flex, (struct span){bytes, sizeof bytes}, &p), 0);
	check_place(p, "vcc://far/x/y", "s3://b/p/x/y", far);
	check_place(p, "vcc://far/../y", "s3://b/p/../y", "");
	check_place(p, "vcc://near/x", "", "");
	check_place(p, "vcc://far", "", "");
	check_place(p, "vcc:///x", "", "");
	check_place(p, "s3://b/p/x", "", far);
	check_place(p, "s3://b/p/q/x", "", "s3://b/p/q/"); /* the longest */
	check_place(p, "s3://b/p2/x", "", "");
	check_place(p, "s3://b/p/", "", "");
	check_place(p, "s3://b/p/../x", "", "");
	check_place(p, "S3://B/%70/x", "", far); /* as the user's permissions are compared */
	check_place(p, "s3://b/p%2Fq/x", "", "s3://b/p/q/");
	check_place(p, "s3://b/p/%2e%2E/x", "", "");
	check_place(p, "vcc://far/%2e%2e/y", "s3://b/p/%2e%2e/y", "");
	check_place(p, "s3:b/p/x", "", "");
	ice_places_free(p);
	for (size_t cut = 0; cut < sizeof bytes; cut++) {
		CHECK_INT(ice_places_new(ice_config_flex, (struct span){bytes, cut}, &p), 0);
		check_place(p, "vcc://far/x", "", "");
		ice_places_free(p);
	}
}

/* As the official library writes it, and with what YAML allows besides. */
static const char yaml[] =
	"inline_chunk_threshold_bytes: 256\n"
	"storage:\n"
	"  concurrency:\n"
	"    max_concurrent_requests_for_object: 5\n"
	"virtual_chunk_containers:\n"
	"  s3://b/p:\n"
	"    name: far\n"
	"    url_prefix: s3://b/p\n"
	"    store: !s3_compatible\n"
	"      region: eu-1\n"
	"      endpoint_url: null\n"
	"      anonymous: true\n"
	"  ? s3://b/p/q/\n"
	"  : {url_prefix: 's3://b/p/q/', name: ~, store: !gcs {}, other: [1, {a: b}]}\n"
	"  old: &a\n"
	"    name: \"null\"\n"
	"    url_prefix: file:///d\n"
	"    store: !local_file_system '/d'\n"
	"  same: *a\n"
	"  none: null\n"
	"manifest: null\n";

/* With other bytes at a place nothing at all is known. */
static void
check_damaged(const char *with, size_t at)
{
	char text[sizeof yaml];
	struct ice_places *p = NULL;
	memcpy(text, yaml, sizeof yaml);
	memcpy(text + at, with, strlen(with));
	CHECK_INT(ice_places_new(
			  ice_config_yaml, (struct span){(uint8_t *)text, sizeof yaml - 1}, &p),
		0);
	check_place(p, "vcc://far/x", "", "");
	check_place(p, "s3://b/p/x", "", "");
	ice_places_free(p);
}

static void
test_yaml(void)
{
	static const char far[] = "s3://b/p (the repository says: region eu-1 anonymous)";
	struct ice_places *p = NULL;
	CHECK_INT(
		ice_places_new(ice_config_yaml, (struct span){(const uint8_t *)"a: b", 4}, &p), 0);
	check_place(p, "s3://b/p/x", "", "");
	ice_places_free(p);
	CHECK_INT(ice_places_new(ice_config_yaml,
			  (struct span){(const uint8_t *)yaml, sizeof yaml - 1}, &p),
		0);
	struct chunk_place c = {.kind = PLACE_URL, .name = strdup("s3://b/p/x")};
	CHECK_INT(ice_places_apply(p, &c), 0);
	bool built = c.proposal;
	chunk_place_free(&c);
	if (built) {
		check_place(p, "vcc://far/x/y", "s3://b/p/x/y", far);
		check_place(p, "vcc://null/y", "file:///d/y", "file:///d");
		check_place(p, "s3://b/p/x", "", far);
		check_place(p, "s3://b/p/q/x", "", "s3://b/p/q/");
		check_place(p, "file:///d/x", "", "file:///d");
	}
	ice_places_free(p);
	check_damaged("\xff", 10);
	check_damaged("\t{", (size_t)(strstr(yaml, "  old:") - yaml));
	check_damaged("[a,", sizeof yaml - sizeof "null\n");
	check_damaged("\"", (size_t)(strstr(yaml, "inline") - yaml));
}

int
main(void)
{
	test_room();
	test_claims();
	test_places();
	test_prefixes();
	test_yaml();
	return check_end();
}
