#!/bin/bash
# Icechunk repositories that few writers make: the root is an array, and has versions as groups have; what lies below an array is named where it cannot be shown; a
# reference of an array that a scalar was written over is none of the scalar's, unless its writer is one that wrote scalars so; references that are there twice; moments of
# a branch that is not main.
. "$(dirname "$0")/functions.sh"

integers() { od -An -v -td4 "$1" 2>"$tmp/why" | xargs; }
for spec in 1 2; do
	top=$tmp/spec$spec
	"$python" "$here/icechunk_odd.py" "$top" $spec || exit 1
	must_mount "$top/root" endian=little,metadata_ttl=1
	same "names (spec $spec)" "$(cd "$mnt" && echo *)" "b b.nc root root.nc"
	same "the root" "$(integers "$mnt/root")" "3 4"
	same "beside it" "$(integers "$mnt/b")" "5 6"
	same "a tag" "$(integers "$mnt/@tag.v1/root")" "2 3"
	same "names of a tag" "$(cd "$mnt/@tag.v1" && echo *)" "b b.nc root root.nc"
	same "the netCDF file of a tag" "$("$python" -c "import netCDF4, sys; print(*netCDF4.Dataset(sys.argv[1]).variables['root'][:])" "$mnt/@tag.v1/root.nc")" "2 3"
	same "a branch" "$(integers "$mnt/@branch.main/root")" "3 4"
	same "a moment" "$(integers "$mnt/@2026-01-03T12:00/root")" "2 3"
	same "a tag whose root is a group" "$(cd "$mnt/@tag.v0" && echo *) $(integers "$mnt/@tag.v0/x")" "x x.nc 8 9"
	[ ! -e "$mnt/@tag.nope" ] || fail "a tag that never was is there"
	same "history" "$(cut -f 3 "$mnt/.zarrfs/history" | xargs)" "commit 3 commit 2 commit 1"
	id=$(sed -n 2p "$mnt/.zarrfs/history" | cut -f 1)
	same "a snapshot by its id" "$(integers "$mnt/@$id/root")" "2 3"
	same "what is not shown" "$(grep -o "not shown of.*" "$mnt/.zarrfs/log" | cut -d ' ' -f 6- | sort -u)" "'b/d' lies below an array, which is a file; there are others"
	umount_store
	for store in "$top/root#tag=v1" "file://$top/root#tag=v1"; do
		same "a tag of $store" "$("$ZARRFS" -o endian=little --cat "$store" root 2>/dev/null | od -An -td4 | xargs)" "2 3"
	done
	same "from above" "$("$ZARRFS" -o endian=little --cat "$top" root 2>"$tmp/why" | od -An -td4 | xargs)" "3 4"
	grep -q "'b' lies below an array, which is a file; there are others" "$tmp/why" || fail "nothing is said of what is not shown: $(cat "$tmp/why")"
	same "references that are there twice" "$("$ZARRFS" -o endian=little --cat "$top/twice" a | od -An -td4 | xargs)" "5 6"
	"$ZARRFS" --cat "$top/twice" b >"$tmp/got" 2>"$tmp/why" && fail "two references of which either may be right give $(od -An -td4 "$tmp/got")"
	grep -q "two references to one chunk" "$tmp/why" || fail "the reason is '$(cat "$tmp/why")'"
	# a moment is one of the version that is shown: of branch main, branch dev and tag v3 at noon after commits 1, 2, 3 and 4
	for line in "|1 2 2 2" "#branch=dev|1 2 3 4" "#tag=v3|1 2 3 3"; do
		at=""
		for day in 2 3 4 5; do
			at+=" $("$ZARRFS" -o endian=little --cat "$top/line${line%|*}" "@2026-01-0${day}T12:00/a" | od -An -td4 -N4 | xargs)"
		done
		same "noon of each day (${line%|*})" "$at" " ${line#*|}"
	done
	"$ZARRFS" --cat "$top/line#branch=dev" @2026-01-01/a >"$tmp/got" 2>"$tmp/why" && fail "there is something before the first commit"
	if [ $spec = 2 ]; then # … which is not taken for a folder without one
		cp -r "$top/line" "$tmp/short"
		truncate -s 32 "$tmp/short/repo"
		"$ZARRFS" --ls "$tmp/short" >"$tmp/got" 2>"$tmp/why" && fail "half a repository shows $(cat "$tmp/got")"
		grep -q "Icechunk repository '/': cut off" "$tmp/why" || fail "the reason is '$(cat "$tmp/why")'"
	fi
	for writer in ic-0.2.12 another; do
		same "a scalar by $writer" "$("$ZARRFS" -o endian=little --cat "$top/scalar-$writer" a | od -An -td4 | xargs)" 42
	done
	for writer in ic-1.0.0 ic-2.2.2; do
		same "no scalar by $writer" "$("$ZARRFS" -o endian=little --cat "$top/scalar-$writer" a | od -An -td4 | xargs)" -1
	done
done
exit $((failures != 0))
