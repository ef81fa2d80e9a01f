#!/bin/bash
# A netCDF file that is opened again as soon as a writer has closed it: its size is what the new writer sees, and no open or utimes finds a stale name.
# What is refused at its close is told once more when the mount ends, and by the exit status.
. "$(dirname "$0")/functions.sh"

cp -r "$data/sample.zarr" "$tmp/s.zarr"
must_mount "$tmp/s.zarr" rw
"$python" - "$mnt/sst.nc" <<'END' || fail "opened again"
import os, sys

name = sys.argv[1]
with open(name, "rb") as file:
    content = file.read()
for _ in range(100):
    os.close(os.open(name, os.O_RDWR))
    file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    assert os.fstat(file).st_size == 0, os.fstat(file)
    os.ftruncate(file, 100)
    assert os.fstat(file).st_size == 100, os.fstat(file)
    os.pwrite(file, content, 0)
    assert os.fstat(file).st_size == len(content), os.fstat(file)
    os.close(file)
    os.utime(name)
    with open(name, "rb") as file:
        assert file.read() == content
END
umount_store

# ends_lossy WHAT LINE...: the daemon ends with status 1 and says once of each that it was not stored
ends_lossy()
{
	local what=$1 status=0 line
	shift
	mounts[$mnt]=
	[ -n "${held:-}" ] || unmount "$mnt"
	eventually 60 ended "$daemon" || fail "$what: the daemon still runs"
	wait "$daemon" || status=$?
	same "status, $what" "$status" 1
	for line; do
		same "lines of '$line', $what" "$(grep -c "not stored: '$line" "$log")" 1
	done
	same "lines, $what" "$(grep -c 'not stored:' "$log")" $#
}
cp "$tmp/s.zarr/.zmetadata" "$tmp/before"
must_mount "$tmp/s.zarr" rw
cp "$mnt/sst.nc" "$tmp/sst.nc"
head -c 100 "$tmp/sst.nc" >"$tmp/half"
cp "$tmp/half" "$mnt/sst.nc" 2>"$tmp/said" && fail "half a header was taken"
cmp "$tmp/s.zarr/.zmetadata" "$tmp/before" || fail "half a header changed the store"
# a new file that was taken in, and is then written on
mkdir "$mnt/g"
"$python" -c 'import os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_EXCL)
os.write(fd, open(sys.argv[2], "rb").read())
os.fsync(fd)
os.ftruncate(fd, 50)
os._exit(0)' "$mnt/g/sst.nc" "$tmp/sst.nc" || fail "a new file is not taken in"
ends_lossy "two files refused" "sst.nc': the file has half a netCDF header" "g/sst.nc': the file has half a netCDF header"

# one that is still open when the mount is told to end: what was written since it was taken in is stored, or named
# still_open GROUP CODE: makes GROUP/tos.nc of tos.nc, does CODE with its descriptor fd, and keeps it open; sets $held
still_open()
{
	"$python" -c 'import os, signal, sys
signal.alarm(300)
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_EXCL)
size = os.write(fd, open(sys.argv[2], "rb").read())
os.fsync(fd)
exec(sys.argv[4])
open(sys.argv[3], "w").close()
signal.pause()' "$mnt/$1/tos.nc" "$tmp/tos.nc" "$tmp/open" "$2" >/dev/null 2>"$tmp/said" &
	held=$!
	eventually 60 test -e "$tmp/open" || fail "a new file is not taken in: $2: $(cat "$tmp/said")"
	rm -f "$tmp/open"
	kill -TERM "$daemon"
}
"$python" -c 'import sys, netCDF4
with netCDF4.Dataset(sys.argv[1], "w", format="NETCDF3_CLASSIC") as file:
    file.createDimension("x", 4)
    file.createVariable("tos", "i4", ("x",))[:] = [1, 2, 3, 4]' "$tmp/tos.nc" || exit 77
must_mount "$tmp/s.zarr" rw
still_open g 'os.ftruncate(fd, 50)'
ends_lossy "an open file refused" "g/tos.nc': the file has half a netCDF header"
kill "$held" 2>/dev/null
must_mount "$tmp/s.zarr" rw
mkdir "$mnt/h"
still_open h 'os.pwrite(fd, bytes([0, 0, 0, 5]), size - 4)'
status=0
mounts[$mnt]=
eventually 60 ended "$daemon" || fail "an open file: the daemon still runs"
wait "$daemon" || status=$?
kill "$held" 2>/dev/null
held=
same "status, an open file" "$status" 0
same "what an open file has" "$("$ZARRFS" -o endian=little --cat "$tmp/s.zarr" h/tos | od -An -td4 | xargs)" "1 2 3 5"

# one that was known when the log was looked at is no news at the end
must_mount "$tmp/s.zarr" rw
cp "$tmp/half" "$mnt/sst.nc" 2>"$tmp/said"
forget "$mnt/sst.nc"
dd if=/dev/null of="$mnt/sst.nc" conv=notrunc status=none 2>"$tmp/said" || fail "refresh does not forget what was refused: $(cat "$tmp/said")"

# nor one of which the program reads at once, before the kernel has released the file
"$python" - "$mnt" >"$tmp/said" <<'EOF' || fail "refresh misses what close has said: $(cat "$tmp/said")"
import os, sys
late = 0
for _ in range(100):
    file = os.open(sys.argv[1] + "/sst.nc", os.O_WRONLY | os.O_TRUNC)
    os.write(file, b"CDF\1half")
    try:
        os.close(file)
    except OSError:
        while "given up: 'sst.nc'" not in (said := open(sys.argv[1] + "/.zarrfs/refresh").read()):
            late += 1 # a thread of the daemon that has the release waits for a processor
            if late > 10:
                sys.exit(said)
EOF
umount_store

mkdir "$tmp/at"
"$ZARRFS" -o rw "$tmp/s.zarr" "$tmp/at" -- sh -c "cp '$tmp/half' '$tmp/at/sst.nc'; exit 0" 2>"$tmp/said"
same "status where a command looks at nothing" $? 1
grep -q "not stored: 'sst.nc': " "$tmp/said" || fail "it is not named: $(cat "$tmp/said")"
