#include "fuse/guess.h"

#include <string.h>

enum { LONGEST = 32, WRONG_MOST = 2, SHARE = 3 /* of the letters may be wrong: one in so many */ };

static size_t
least(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;
	return ab < c ? ab : c;
}

/* '-' for '_' is what other programs have. */
static bool
same(char a, char b)
{
	return a == b || (a == '-' && b == '_');
}

/* Letters to change, to put in and to take out. */
static size_t
distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t row[LONGEST + 1];
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t before = row[0];
		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t above = row[j];
			row[j] = least(
				above + 1, row[j - 1] + 1, before + !same(a[i - 1], b[j - 1]));
			before = above;
		}
	}
	return row[nb];
}

bool
guess_nearer(const char *typed, size_t len, const char *word, size_t *best)
{
	size_t n = strlen(word);
	if (len > LONGEST || n > LONGEST)
		return false;
	size_t wrong = distance(typed, len, word, n);
	if (wrong > WRONG_MOST || SHARE * wrong > n || wrong >= *best)
		return false;
	*best = wrong;
	return true;
}
