# shellcheck shell=bash disable=SC2034
# functions.sh: what every mounted test uses. A test begins with
#
#	. "$(dirname "$0")/functions.sh"
#
# and then has: $tmp, a directory of its own that is removed at the end; $data, the folder test/data; $python, a Python
# with numpy and zarr; the functions below. ZARRFS names the program (default: build/fuse/zarrfs).
# At the end every mount is taken down and every daemon must have ended well, or the test fails.
# Exit status: 0 all held, 77 cannot run here, else failed.
set -u

here=$(cd "$(dirname "$0")" && pwd)
data=$(cd "$here/../data" && pwd)
ZARRFS=${ZARRFS:-$here/../../build/fuse/zarrfs}
python=${PYTHON:-/usr/bin/python3}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/zarrfs-test.XXXXXX")
failures=0
declare -A mounts=() # mount point -> process id of its daemon, "" once it was waited for
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here

# skip REASON: this test cannot run here
skip()
{
	echo "skip: $*"
	exit 77
}

# fail MESSAGE: says so and goes on; the test fails at its end
fail()
{
	echo "FAILED: $*" >&2
	failures=$((failures + 1))
}

# same WHAT GOT WANT
same()
{
	[ "$2" = "$3" ] || fail "$1 is '$2', not '$3'"
}

# needs PROGRAM...
needs()
{
	local program
	for program; do
		command -v "$program" >/dev/null || skip "no $program"
	done
}

# What a daemon says comes to $log a moment later, and to .zarrfs/log at once.
#
# eventually SECONDS COMMAND...: tries until it succeeds; fails silently after that time, which is long enough for a machine that does much else
eventually()
{
	local end=$((SECONDS + $1 + 1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# forget FILE: what was refused of it, once it is known: the kernel may release a file a moment after the program that wrote it has closed it
forget()
{
	eventually 60 getfattr -n user.zarrfs.error "$1" >"$tmp/said" 2>&1 || fail "$1: that something was refused is not known"
	cat "$mnt/.zarrfs/refresh" >"$tmp/said"
}

# free_port: one of this machine on which no program listens, and which the kernel gives to none that asks for any
free_port()
{
	PYTHONPATH=$here/../tools "$python" -c 'import serving; print(*serving.free_ports(1))'
}

# is_mounted MNT: as the kernel says, whatever the file system in it answers
is_mounted()
{
	grep -qF " $1 " /proc/self/mountinfo
}

mounted_or_ended()
{
	is_mounted "$mnt" || ! kill -0 "$daemon" 2>/dev/null
}

# mount_store STORE [OPTIONS]: mounts on a new directory; sets $mnt, $daemon (process id) and $log (its messages).
# Returns 1 if the program refused.
mount_store()
{
	[ -c /dev/fuse ] || skip "cannot mount: no /dev/fuse"
	mnt=$tmp/mnt${#mounts[@]}
	log=$mnt.log
	mkdir "$mnt"
	"$ZARRFS" -f ${2:+-o "$2"} "$1" "$mnt" 2>"$log" &
	daemon=$!
	mounts[$mnt]=$daemon
	eventually 60 mounted_or_ended
	is_mounted "$mnt" && return
	if grep -qi 'fuse device\|operation not permitted' "$log"; then
		cat "$log"
		skip "cannot mount here"
	fi
	return 1
}

# must_mount STORE [OPTIONS]: or the test ends here
must_mount()
{
	mount_store "$@" && return
	fail "cannot mount '$1': $(cat "$log")"
	exit 1
}

unmount()
{
	umount "$1" 2>/dev/null || fusermount3 -u "$1" 2>/dev/null || fusermount3 -uz "$1" 2>/dev/null
}

# ended PID: no such process, or only what is left of it
ended()
{
	! kill -0 "$1" 2>/dev/null || [ "$(ps -o stat= -p "$1" | cut -c1)" = Z ]
}

# umount_store [MNT]: takes a mount down; its daemon must end soon, and well
umount_store()
{
	local at=${1:-$mnt} pid status=0
	pid=${mounts[$at]}
	[ -n "$pid" ] || return 0
	mounts[$at]=
	is_mounted "$at" && unmount "$at"
	if ! eventually 60 ended "$pid"; then
		fail "the daemon of $at still runs 60 s after unmounting"
		kill -9 "$pid"
	fi
	wait "$pid" || status=$?
	[ $status = 0 ] || fail "the daemon of $at ended with status $status: $(head -n 90 "$at.log")"
}

# kill_daemon [MNT]: kill -9, and the mount point is left as it is
kill_daemon()
{
	local at=${1:-$mnt}
	kill -9 "${mounts[$at]}"
	wait "${mounts[$at]}" 2>/dev/null
	mounts[$at]=
}

# stat_value NAME [MNT]: the number that .zarrfs/stats shows for zarrfs_NAME
stat_value()
{
	sed -n "s/^zarrfs_$1 //p" "${2:-$mnt}/.zarrfs/stats"
}

# find_corpus: $corpus, the folder with expected.tsv of the conformance corpus, and $stores, where its V2 stores are (unpacked if need be).
# ZARRFS_CORPUS names the folder.
find_corpus()
{
	corpus=${ZARRFS_CORPUS:-$here/../../../shared/corpus}
	[ -f "$corpus/expected.tsv" ] || skip "no corpus in ${ZARRFS_CORPUS:-ZARRFS_CORPUS}"
	stores=$corpus
	[ -d "$corpus/synthetic_v2" ] && return
	stores=$tmp/corpus
	mkdir "$stores"
	tar -C "$stores" -xJf "$corpus/zarr-v2.tar.xz" || exit 1
}

# in_v3 FORM STORE: $formed, a copy of a store of Zarr V2 as V3 has it; FORM: v3, or shards, in which its chunks lie
in_v3()
{
	formed=$2.$1
	"$python" "$here/as_v3.py" "$2" "$formed" "$1" || exit 1
}

# by_form V2 SHARDS: which of the two is said, by STORES_FORM
by_form()
{
	[ "${STORES_FORM:-v2}" = v2 ] && echo "$1" || echo "$2"
}

# put_sample STORE: the sample store, as STORES_FORM says, without consolidated metadata
put_sample()
{
	if [ "${STORES_FORM:-v2}" = v2 ]; then
		cp -r "$data/sample.zarr" "$1"
	else
		"$python" "$here/as_v3.py" "$data/sample.zarr" "$1" "$STORES_FORM" || exit 1
	fi
	"$python" -c 'import sys, stores; stores.scatter(sys.argv[1])' "$1" || exit 1
}

# find_references icechunk|kerchunk: $tmp/c, with that folder of the corpus, and $options, with which what its references lead to is read there
find_references()
{
	local from
	find_corpus
	[ -f "$corpus/icechunk-kerchunk.tar.xz" ] || skip "no $1 in $corpus"
	mkdir "$tmp/c"
	tar -C "$tmp/c" -xJf "$corpus/icechunk-kerchunk.tar.xz" "$1" virtual || exit 1
	options=endian=little
	for from in file:///tmp/zarrfs-virtual s3://zarrfs-virtual http://127.0.0.1:18099; do
		options+=",virtual=$from=>$tmp/c/virtual"
	done
}

# four_writers STORE [s3:KEY]: rows that four writers append in two mounts of a store of four_writers.py are all there; s3:KEY: where zarr-python finds it
four_writers()
{
	local first options=rw
	[ "${STORES_FORM:-v2}" = v2 ] || options+=,unlimited=time
	must_mount "$1" $options
	first=$mnt
	must_mount "$1" $options
	"$python" "$here/four_writers.py" run "$first" "$mnt" || fail "$1: rows are refused: $(tail -n 3 "$first.log" "$log")"
	umount_store "$first"
	umount_store
	must_mount "$1"
	"$python" "$here/four_writers.py" check "${2:-$1}" "$mnt" || fail "$1: rows are lost"
	umount_store
}

# put_left STORE ROWS DAYS: arrays of so many rows, behind which chunks were left for so long
put_left()
{
	"$python" - "$1" <<'EOF' || exit 1
import os, sys
import as_v3
import zarr3
dots = {"name": "default", "configuration": {"separator": "."}}
kinds = {"a": ((4, 2), [zarr3.LITTLE]), "d": ((4, 1), [zarr3.LITTLE]), "b": ((4, 2), [zarr3.LITTLE]), "s": ((8, 2), [zarr3.sharding([2, 2], [zarr3.LITTLE])])}
as_v3.save(sys.argv[1] + "/zarr.json", zarr3.group())
for name, (chunks, codecs) in kinds.items():
    as_v3.save("%s/%s/zarr.json" % (sys.argv[1], name), zarr3.array((20, 2), chunks, "uint8", 7, codecs, dims=["time", "x"], keys=dots if name == "d" else None))
EOF
	must_mount "$1" rw,unlimited=time
	for name in a b d s; do
		printf '%40s' '' | dd of="$mnt/$name" conv=notrunc status=none || fail "$name: cannot be written"
	done
	umount_store
	sed -i "s/\[20, 2\]/[$2, 2]/" "$1"/?/zarr.json
	find "$1" -path '*/c[./]*' -type f -exec touch -d "$3 days ago" {} +
}

# peak_memory: of the present daemon, KiB
peak_memory()
{
	awk '$1 == "VmHWM:" { print $2 }' "/proc/$daemon/status"
}

# sanitized: built with a sanitizer, so that memory and times say nothing
sanitized()
{
	[ -n "${ZARRFS_SANITIZE:-}" ] && [ "$ZARRFS_SANITIZE" != none ]
}

finish()
{
	local status=$? at
	trap - EXIT
	for at in "${!mounts[@]}"; do
		umount_store "$at"
		is_mounted "$at" && unmount "$at"
	done
	rm -rf --one-file-system "$tmp"
	if [ $status != 0 ]; then
		[ $status = 77 ] || echo "FAILED: ended with status $status" >&2
		exit $status
	fi
	exit $((failures != 0))
}
trap finish EXIT
trap 'exit 130' INT TERM
