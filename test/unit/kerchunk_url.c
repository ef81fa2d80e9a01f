/* Where the URLs of references lead: into the folder of the references, elsewhere, or nowhere. */
#include "backends/kerchunk/url.h"
#include "check.h"

#include <errno.h>

static const struct kerchunk_base file = {"sets/", "sets/", "file:///data/all"},
				  part = {"x.parq/t2m/", "x.parq/", "file:///data"},
				  root = {"", "", "file:///data"},
				  bucket = {"a/", "a/", "s3://b/top"},
				  web = {"", "", "https://host:8000/dir"},
				  homeless = {"in/", "in/", NULL};

static void
check_to(const struct kerchunk_base *base, const char *url, enum place_kind kind, const char *want)
{
	struct chunk_place p = {0};
	CHECK_INT(kerchunk_url(url, base, &p), 0);
	CHECK_INT(p.kind, kind);
	CHECK_STR(p.name, want);
	chunk_place_free(&p);
}

static void
check_fails(const struct kerchunk_base *base, const char *url, int code)
{
	struct chunk_place p = {0};
	CHECK_INT(kerchunk_url(url, base, &p), code);
	CHECK(!p.name && *err_text());
	chunk_place_free(&p);
}

static void
test_own_folder(void)
{
	check_to(&file, "x.nc", PLACE_KEY, "sets/x.nc");
	check_to(&file, "./a//b/../x #1%41?.nc", PLACE_KEY, "sets/a/x #1%41?.nc");
	check_to(&root, "x.nc", PLACE_KEY, "x.nc");
	check_to(&part, "0.bin", PLACE_KEY, "x.parq/t2m/0.bin");
	check_to(&part, "../x/0.bin", PLACE_KEY, "x.parq/x/0.bin");
	check_to(&homeless, "../in/x", PLACE_KEY, "in/x");
	/* however it is written */
	check_to(&file, "/data/all/sets/x.nc", PLACE_KEY, "sets/x.nc");
	check_to(&file, "file:///data//all/./sets/a/../x.nc", PLACE_KEY, "sets/x.nc");
	check_to(&file, "../sets/x.nc", PLACE_KEY, "sets/x.nc");
	check_to(&bucket, "s3://b/top/a/x.nc", PLACE_KEY, "a/x.nc");
	check_to(&web, "https://host:8000/dir/x.nc", PLACE_KEY, "x.nc");
}

static void
test_elsewhere(void)
{
	check_to(&file, "../x.nc", PLACE_URL, "file:///data/all/x.nc");
	check_to(&file, "../sets-too/x.nc", PLACE_URL, "file:///data/all/sets-too/x.nc");
	check_to(&file, "../../../../../etc/passwd", PLACE_URL, "file:///etc/passwd");
	check_to(&file, "/data/all/sets/../../../etc/passwd", PLACE_URL, "file:///etc/passwd");
	check_to(&file, "file:///a b/50%25#?.nc", PLACE_URL, "file:///a b/50%2525%23%3F.nc");
	check_to(&file, "LOCAL:///a", PLACE_URL, "file:///a");
	check_to(&part, "../../x.nc", PLACE_URL, "file:///data/x.nc");
	check_to(&bucket, "../x.nc", PLACE_URL, "s3://b/top/x.nc");
	check_to(&bucket, "../../x.nc", PLACE_URL, "s3://b/x.nc");
	check_to(&bucket, "s3://b/top/a2/x", PLACE_URL, "s3://b/top/a2/x");
	check_to(&bucket, "s3a://c/%41", PLACE_URL, "s3://c/%2541");
	check_to(&bucket, "gcs://c/k", PLACE_URL, "gs://c/k");
	check_to(&web, "http://h/a?b=%20", PLACE_URL, "http://h/a?b=%20");
	check_to(&web, "https://host:8000/dir/../x", PLACE_URL, "https://host:8000/dir/../x");
}

static void
test_nowhere(void)
{
	check_fails(&file, "", -EIO);
	check_fails(&file, "/", -EIO);
	check_fails(&file, "file://host/a", -EIO);
	check_fails(&file, "zip://a::s3://b/c", -ENOTSUP);
	check_fails(&file, "simplecache::s3://b/c", -ENOTSUP);
	check_fails(&file, "az://a/b", -ENOTSUP);
	check_fails(&file, "memory://a", -ENOTSUP);
	check_fails(&file, "C:\\a", -ENOTSUP);
	check_fails(&homeless, "../x", -EACCES);
	check_fails(&bucket, "../../../x", -EIO);
}

int
main(void)
{
	test_own_folder();
	test_elsewhere();
	test_nowhere();
	return check_end();
}
