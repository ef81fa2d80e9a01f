/* An open file: what its handle is the head of. Safe from every thread. */
#pragma once

#include "fuse/handle.h"

struct array_move;
struct file;
struct server;

struct open_file {
	struct handle handle;
	struct server *server;
	struct inode *inode;
	struct file *file;
	bool paged;        /* the kernel may have pages of it … */
	bool written;      /* … and this handle changes them */
	bool direct;       /* but read() goes past them */
	bool noted;        /* what its pages show is noted, see shown_begin */
	atomic_bool drops; /* the kernel dropped its pages at open(), perhaps not yet, see
			      open_file_heard */
	bool guarded; /* read() takes from pages what it finds of a file that is to be read whole,
			 or not at all */
	int64_t opened;
	int64_t since; /* past pages that are too old for it: see page_coherence_open; or 0 */
	_Atomic int64_t looked; /* when the kernel asked for attributes last, for a read(); 0:
				   never. Past the pages each read() is asked itself */
	atomic_uint looks;      /* such questions under way */
	atomic_bool paused; /* its reader stopped, and its inode may have begun anew meanwhile */
};

struct open_file *open_file_of(struct handle *);
/* Its reader is to be asked no more before a read(). Was it? */
bool open_file_end_pause(struct open_file *);

/* file_move of a handle that has an inode. */
bool open_file_move(struct handle *, const struct array_move *);
/* The kernel asks for the attributes before a read() through this handle: from now on, and no
 * longer. */
void open_file_look(struct handle *);
void open_file_looked(struct handle *);
/* Its program has asked for something, or is gone: what open() does is done. */
void open_file_heard(struct open_file *);
/* Is open_file_resume still to be done? NULL is allowed. */
bool open_file_paused(struct handle *);
