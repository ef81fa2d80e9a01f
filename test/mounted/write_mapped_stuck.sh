#!/bin/bash
# A store whose writes hang, and more changed pages of a mapping than memory has room for: SIGTERM ends the mount all the same, and
# when the store takes bytes again, the daemon.
. "$(dirname "$0")/functions.sh"

"$python" - "$tmp/store.zarr" <<'END' || exit 1
import sys
import numpy as np
import stores
stores.put(sys.argv[1], "a", np.zeros(40 << 20, dtype="u1"), chunks=(100000,), compressor=None)
END
must_mount "fault+file://$tmp/store.zarr#fault.kind=hang&fault.calls=put&fault.file=$tmp/broken" rw,memory=16M,timeout=600
touch "$tmp/broken"
"$python" - "$mnt/a" "$tmp/pids" <<'END' &
import ctypes
import os
import sys
import time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
fd = os.open(sys.argv[1], os.O_RDWR)
size = os.fstat(fd).st_size
shared = libc.mmap(None, size, 3, 1, fd, 0) # to read and write, shared
os.close(fd) # a close() that came later would wait for the store
holder = os.fork()
if holder == 0: # the mapping remains, whatever becomes of the one that is refused a page
    time.sleep(600)
    os._exit(0)
with open(sys.argv[2], "w") as file:
    file.write("%d %d" % (holder, os.getpid()))
for at in range(0, size, 4096):
    ctypes.memset(shared + at, 1, 1)
END
disown

# waiting: threads of the daemon that the kernel has wait
waiting()
{
	ps -L -o stat=,tid= -p "$daemon" | sed -n 's/^D[^ ]* *//p' | sort
}

# waits_for_pages: has the kernel a thread of the daemon wait until a page is written back, and not for a moment?
waits_for_pages()
{
	local before
	before=$(waiting)
	[ -n "$before" ] && sleep 3 && [ -n "$(comm -12 <(echo "$before") <(waiting))" ]
}

eventually 60 waits_for_pages || skip "no page that is dropped waits for the store"
kill -TERM "$daemon"
eventually 60 grep -q 'storing what was written' "$log" || fail "the mount does not end while a page waits for the store: $(cat "$log")"
rm "$tmp/broken"
eventually 60 ended "$daemon" || fail "the daemon does not end when the store takes bytes again"
wait "$daemon" || echo "the daemon's status is $?: pages that came after the signal are lost"
mounts[$mnt]=
# shellcheck disable=SC2046
kill -9 $(cat "$tmp/pids") 2>/dev/null
is_mounted "$mnt" && umount -l "$mnt"
true
