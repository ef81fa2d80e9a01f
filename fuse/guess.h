/* Which word a user may have meant when another one was typed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* How good a proposal is. Start with {0}. */
struct guess {
	size_t right; /* the more the better; 0: none */
};

/* Is it worth proposing word where the len bytes of typed were typed, and better than what was
 * proposed before? It is where at most two letters are wrong, left out or too many, and most of
 * them right; or where one of them has all the parts of the other, which '_' or '-' separate, or
 * their beginnings: direct for direct_io, chunksize for chunk, verify_tls for tls_verify. */
bool guess_better(const char *typed, size_t len, const char *word, struct guess *);
/* Are they the same but for '_' and '-'? */
bool guess_same(const char *typed, size_t len, const char *word);
