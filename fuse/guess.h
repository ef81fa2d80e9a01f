/* Which word somebody may have meant who typed another one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Is it worth proposing word to somebody who typed the len bytes of typed: at most two letters wrong, left out or too many, and most of
 * them right? *best: in, the fewest of what was proposed before; out, that of this one if it is fewer. */
bool guess_nearer(const char *typed, size_t len, const char *word, size_t *best);
