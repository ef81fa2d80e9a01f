#!/bin/bash
# Snapshots that expire while their repository is mounted, and a collector that takes away what was theirs alone: what is gone is ENOENT, or EIO with a reason, never fill values;
# what is still there, and files that are open, stay as they are; history and moments end where the snapshots do.
. "$(dirname "$0")/functions.sh"

integers() { od -An -v -td4 "$1" 2>"$tmp/why" | xargs; }
# expire DIR SPEC COLLECT: of four commits the first two are gone from the names; with COLLECT also their objects
expire()
{
	"$python" - "$here" "$@" <<-E || exit 1
		import os, sys
		sys.path.insert(0, sys.argv[1])
		from icechunk_files import Blob, Repo, Table, ident, text_of, write_file
		top, spec, collect = sys.argv[2], int(sys.argv[3]), sys.argv[4] == "1"
		r = Repo(top, spec, "", 0, "", "")
		if spec == 2:
		    infos = [Table({0: r.snapshot_id(k), 1: ("i32", k - 4), 2: ("u64", r.time(k)), 3: Blob(b"commit %d" % k)}) for k in (3, 4)]
		    write_file(top + "/repo", 6, 2, Table({0: ("u8", 2), 1: [], 2: [Table({0: Blob(b"main"), 1: ("u32", 1)})], 3: [Blob(b"gone"), Blob(b"v1")],
		        4: infos, 5: Table({0: ("u8", 0), 1: ("u64", 0)}), 7: []}))
		if collect or spec == 1:
		    for k in (1, 2):
		        os.unlink("%s/snapshots/%s" % (top, text_of(r.snapshot_id(k))))
		if collect:
		    for k in (1, 2):
		        os.unlink("%s/manifests/%s" % (top, text_of(ident("mani", k))))
	E
}

# gone FILE: ENOENT, or EIO with a reason in the log
gone()
{
	cat "$1" >"$tmp/got" 2>"$tmp/why" && fail "spec $spec: '$1' can be read: $(integers "$tmp/got")"
	[ ! -s "$tmp/got" ] || fail "'$1' gave bytes"
	case $(cat "$tmp/why") in
	*"No such file"*) ;;
	*"Input/output error"*) grep -q "is not there" "$mnt/.zarrfs/log" || fail "nothing says why '$1' is not there: $(cat "$mnt/.zarrfs/log")" ;;
	*) fail "'$1': $(cat "$tmp/why")" ;;
	esac
}

for spec in 1 2; do
	for collect in 0 1; do
		repo=$tmp/repo$spec$collect
		"$python" "$here/icechunk_files.py" "$repo" $spec 4 || exit 1
		must_mount "$repo" endian=little,metadata_ttl=1
		old=$(sed -n 4p "$mnt/.zarrfs/history" | cut -f 1)
		older=$(sed -n 3p "$mnt/.zarrfs/history" | cut -f 1)
		same "the first (spec $spec)" "$(integers "$mnt/@tag.v1/a")" "1 2 3 4"
		exec 5<"$mnt/@tag.v1/a" 6<"$mnt/a"
		expire "$repo" $spec $collect
		cat "$mnt/.zarrfs/refresh" >/dev/null
		same "the newest" "$(integers "$mnt/a")" "4 5 6 7"
		got=$(od -An -v -td4 <&5 2>/dev/null | xargs)
		[[ -z $got || $got = "1 2 3 4" ]] || fail "a file that was open has become '$got'"
		same "a file of the newest that was open" "$(od -An -v -td4 <&6 | xargs)" "4 5 6 7"
		exec 5<&- 6<&-
		umount_store
		must_mount "$repo" endian=little,metadata_ttl=1
		same "a moment of the third" "$(integers "$mnt/@2026-01-04T12:00/a")" "3 4 5 6"
		for name in @$old @$older @tag.v1 @2026-01-02T12:00 @2026-01-03T12:00; do
			gone "$mnt/$name/a"
		done
		same "history" "$(cut -f 3 "$mnt/.zarrfs/history" | xargs)" "commit 4 commit 3"
		same "the newest in the end" "$(integers "$mnt/a")" "4 5 6 7"
		umount_store
		for ref in snapshot=$old snapshot=$older tag=v1; do
			"$ZARRFS" --ls "$repo#$ref" >"$tmp/got" 2>"$tmp/why" && fail "spec $spec: #$ref shows $(cat "$tmp/got")"
			grep -qE "has no version|is not there \(expired\?\)" "$tmp/why" || fail "the reason is '$(cat "$tmp/why")'"
		done
	done
done
exit $((failures != 0))
