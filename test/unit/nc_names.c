/* Names in netCDF files: what is escaped, and that it can be undone. */
#include "check.h"

#include "view/netcdf/nc_names.h"

#include <ctype.h>

static void
is(const char *name, const char *want)
{
	char *got = nc_name(name);
	CHECK_STR(got, want);
	free(got);
}

static void
test_table(void)
{
	is("t2m", "t2m");
	is("2m_temperature", "2m_temperature");
	is("a b", "a b");
	is("a ", "a_x20_");
	is("a/b", "a_x2F_b");
	is("rh%", "rh_x25_");
	is("-x", "_x2D_x");
	is(".x", "_x2E_x");
	is("x-y.z+1@2", "x-y.z+1@2");
	is("tab\t", "tab_x09_");
	is("\x7f", "_x7F_");
	is("", "_x00_");
	is("_x2F_", "_x5F_x2F_");
	is("_x41/", "_x5F_x41_x2F_");
	is("_x41", "_x41");
	is("_x41\xff", "_x5F_x41_xFF_");
	is("caf\xe9", "caf_xE9_");
	is("caf\xc3\xa9", "caf\xc3\xa9");
	is("cafe\xcc\x81", "caf\xc3\xa9"); /* NFC */
	is("\xe2\x84\xab", "\xc3\x85");    /* ANGSTROM SIGN */
	is("\xed\xa0\x80", "_xED__xA0__x80_");
}

static void
undo(const char *name, char *ret)
{
	while (*name) {
		unsigned v;
		if (name[0] == '_' && name[1] == 'x' && isxdigit((unsigned char)name[2]) &&
			isxdigit((unsigned char)name[3]) && name[4] == '_' &&
			sscanf(name + 2, "%2x", &v) == 1) {
			*ret++ = (char)v;
			name += 5;
		} else {
			*ret++ = *name++;
		}
	}
	*ret = 0;
}

static void
test_undone(void)
{
	static const char letters[] = "_x4F1/% a\x01\xc3\xa9\xff";
	uint32_t seed = 5;
	for (int i = 0; i < 200000; i++) {
		char name[16] = {0}, back[128];
		uint32_t n = 1 + check_random(&seed) % 12;
		for (uint32_t k = 0; k < n; k++)
			name[k] = letters[check_random(&seed) % (sizeof letters - 1)];
		char *got = nc_name(name);
		undo(got, back);
		CHECK_STR(back, name);
		free(got);
		if (check_failed)
			return;
	}
}

static void
test_long(void)
{
	char name[1001];
	memset(name, 'a', 1000);
	name[1000] = 0;
	char *a = nc_name(name);
	CHECK_INT(strlen(a), NC_NAME_MAX);
	name[999] = 'b';
	char *b = nc_name(name);
	CHECK(strcmp(a, b) != 0);
	for (int i = 0; i < 500; i++)
		memcpy(name + 2 * i, "\xc3\xa9", 2);
	char *c = nc_name(name);
	CHECK(strlen(c) <= NC_NAME_MAX && strlen(c) >= NC_NAME_MAX - 1);
	char *d = nc_name_with(c, "_12345");
	CHECK(strlen(d) <= NC_NAME_MAX);
	CHECK_STR(d + strlen(d) - 6, "_12345");
	name[NC_NAME_MAX] = 0;
	memset(name, 'x', NC_NAME_MAX);
	char *e = nc_name(name);
	CHECK_STR(e, name);
	char *f = nc_name_with("t", "_2");
	CHECK_STR(f, "t_2");
	free(a);
	free(b);
	free(c);
	free(d);
	free(e);
	free(f);
}

int
main(void)
{
	test_table();
	test_undone();
	test_long();
	return check_end();
}
