/* Which word a user may have meant when another one was typed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Is it worth proposing word where the len bytes of typed were typed: at most two letters wrong, left out or too many, and most of
 * them right? *best: in, the fewest of what was proposed before; out, that of this one if it is fewer. */
bool guess_nearer(const char *typed, size_t len, const char *word, size_t *best);
