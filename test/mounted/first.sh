#!/bin/bash
# scripts/mount, the first command of a new user: it mounts, and each command that it proposes succeeds, the last one by taking the mount down;
# of the sample store and of one whose name needs quotes. (The build itself is every other test's.)
. "$(dirname "$0")/functions.sh"
needs getfattr ncdump fusermount3

[ -c /dev/fuse ] || skip "cannot mount: no /dev/fuse"
top=$tmp/top
mkdir -p "$top/scripts" "$top/build/fuse" "$top/test" "$tmp/bin"
cp "$here/../../scripts/mount" "$top/scripts"
ln -s "$data" "$top/test/data"
ln -s "$(readlink -f "$ZARRFS")" "$top/build/fuse/zarrfs"
touch "$top/build/build.ninja"
for program in "$top/scripts/install-deps" "$tmp/bin/ninja"; do
	ln -s /bin/true "$program"
done
export PATH=$tmp/bin:$PATH
cp -r "$data/sample.zarr" "$tmp/it's a \"store\".zarr"

# first ARGUMENT...
first()
{
	local lines line
	timeout 60 "$top/scripts/mount" "$@" >"$tmp/said" 2>&1 || fail "scripts/mount $*: $(cat "$tmp/said")"
	mapfile -t lines < <(sed -n 's/^\t//p' "$tmp/said")
	[ ${#lines[@]} -ge 6 ] || fail "it proposes only $(cat "$tmp/said")"
	for line in "${lines[@]}"; do
		bash -c "${line//python3/$python}" >"$tmp/out" 2>"$tmp/err" || fail "'$line' fails: $(cat "$tmp/err")"
		! grep -v "Removing leading '/'" "$tmp/err" || fail "'$line' complains"
		[ -s "$tmp/out" ] || [[ $line == fusermount3* ]] || fail "'$line' shows nothing"
	done
	same "the last command" "${lines[-1]%% *}" fusermount3
	grep -q " $tmp/" /proc/self/mountinfo && fail "still mounted: $(grep " $tmp/" /proc/self/mountinfo)"
}

first
first "$tmp/it's a \"store\".zarr" "$tmp/a place"
first "$data/sample.zarr" "$tmp/a place" -o list=flat
"$top/scripts/mount" "$tmp/nothing.zarr" "$tmp/a place" >"$tmp/said" 2>&1 && fail "what is not there is mounted"
grep -q nothing.zarr "$tmp/said" || fail "it says '$(cat "$tmp/said")'"
exit $((failures != 0))
