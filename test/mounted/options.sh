#!/bin/bash
# Options: --help, the manual and .zarrfs/config tell the same; what is wrong is said in one line, with status 2, and nothing is mounted.
. "$(dirname "$0")/functions.sh"

mkdir "$tmp/at"
manual=$here/../../fuse/zarrfs.1

# refuses PATTERN ARGUMENT...: status 2, one line that says why
refuses()
{
	local pattern=$1 status=0 said
	shift
	said=$("$ZARRFS" "$@" 2>&1 </dev/null) || status=$?
	same "status of '$*'" $status 2
	[[ $said =~ $pattern ]] || fail "'$*' says '$said', not '$pattern'"
	same "lines said of '$*'" "$(wc -l <<<"$said")" 1
	is_mounted "$tmp/at" && fail "'$*' mounted something"
}

store=$data/sample.zarr
refuses "unknown option 'nonsense'" -o nonsense "$store" "$tmp/at"
refuses "'memry=1G'; 'memory' is one" -o memry=1G "$store" "$tmp/at"
refuses "'metadata-ttl=5'; 'metadata_ttl' is one" -o metadata-ttl=5 "$store" "$tmp/at"
meant()
{
	refuses "'$1=1'; '$2' is one" -o "$1=1" "$store" "$tmp/at"
}
for pair in direct:direct_io directio:direct_io ttl:metadata_ttl metadatattl:metadata_ttl meta_ttl:metadata_ttl \
	cache:cache_dir cachedir:cache_dir cache_directory:cache_dir cachesize:cache_size mem:memory \
	readonly:ro read_write:rw writeable:writable time_out:timeout anonymous:profile=anon endpoint_url:endpoint \
	region_name:region token:http_token_file allow_others:allow_other other:allow_other threads:max_threads \
	max_connections:connections readahead:read_ahead_kb read_ahead:read_ahead_kb log:loglevel log_level:loglevel \
	verbose:loglevel=debug str_len:strlen format:zarr_format chunks:chunk chunksize:chunk compression:codec \
	sharding:shard byte_order:endian verify_tls:tls_verify tls:tls_verify insecure:tls_verify=false ca:ca_bundle \
	branch:ref list_flat:list follow_symlinks:follow virtuals:virtual requester-pays:requester_pays \
	path_style:addressing=path picture_size:picture user_id:uid empty:empty_chunks nc_format:nc \
	immutable:metadata_ttl=immutable missing403:missing; do
	meant "${pair%%:*}" "${pair#*:}"
done
for word in kernel_cache max_read use_cache mode foo; do
	refuses "'$word=1'; try" -o "$word=1" "$store" "$tmp/at"
done
refuses "'x=1'; try" -o x=1 "$store" "$tmp/at"
refuses "'csv'; words of 'list' have ':' between" -o list=nc,csv "$store" "$tmp/at"
refuses "'text' is not one of flat.nc" -o list=flat:text "$store" "$tmp/at"
refuses "'unlimited='.*empty" -o unlimited= "$store" "$tmp/at"
refuses "endian.*one of native.little.big.stored" -o endian=middle "$store" "$tmp/at"
refuses "'endian' needs a value" -o endian "$store" "$tmp/at"
refuses "'follow' takes no value" -o follow=yes "$store" "$tmp/at"
refuses "not supported" -o rw,auto_unmount "$store" "$tmp/at"
refuses "not a size" -o memory=4X "$store" "$tmp/at"
refuses "at least 16M" -o memory=1M "$store" "$tmp/at"
refuses "at least 1$" -o rw,chunk=0 "$store" "$tmp/at"
refuses "'nc=4' does not go with 'rw'" -o rw,nc=4 "$store" "$tmp/at"
refuses "100%" -o memory=101% "$store" "$tmp/at"
refuses "too large" -o memory=99999999999999999999 "$store" "$tmp/at"
refuses "too large" -o memory=99999999999999T "$store" "$tmp/at"
refuses "not a number" -o timeout=soon "$store" "$tmp/at"
refuses "not a number" -o timeout=-1 "$store" "$tmp/at"
refuses "from 1 to" -o timeout=0 "$store" "$tmp/at"
refuses "octal" -o umask=888 "$store" "$tmp/at"
refuses "must not be above" -o umask=1000 "$store" "$tmp/at"
refuses "no user 'nobody-of-this-name'" -o uid=nobody-of-this-name "$store" "$tmp/at"
refuses "unknown option '-x'" -x "$store" "$tmp/at"
refuses "unknown option '--nonsense'" --nonsense "$store" "$tmp/at"
refuses "unknown option '--ls=x'" --ls=x "$store"
refuses "unknown option '-x'" --ls -xf "$store"
refuses "needs a value" -o
refuses "no store"
refuses "no mount point" "$store"
refuses "too many" "$store" "$tmp/at" more
refuses "no command" "$store" "$tmp/at" --
refuses "needs a store and a path" --cat "$store"

# the store and the mount point: status 1. A daemon that read its own mount would wait for itself, and nothing could end it.
mkdir -p "$tmp/inside/deep"
cp -r "$store" "$tmp/inside/sample.zarr"
ln -s inside "$tmp/link"
for arguments in "$tmp/no-such-store $tmp/at" "$store $tmp/no-such-directory" "$store $data/sample.sha256" "$tmp/inside $tmp/inside/deep" \
	"$tmp/inside/sample.zarr $tmp/inside/sample.zarr" "file://$tmp/link $tmp/inside/deep" "trace+file://$tmp/inside $tmp/link/sample.zarr/wind"; do
	status=0
	# shellcheck disable=SC2086
	said=$("$ZARRFS" $arguments 2>&1) || status=$?
	same "status of '$arguments'" $status 1
	[ "$(wc -l <<<"$said")" = 1 ] || fail "'$arguments' says '$said'"
done
grep -F " $tmp/" /proc/self/mountinfo && fail "something is mounted"

# --help, manual, config
help=$("$ZARRFS" --help) || fail "--help fails"
in_help=$(sed -n '/^Options after -o:/,/^$/s/^  \([a-z_]*\).*/\1/p' <<<"$help" | sort)
in_manual=$(sed -n '/^.Ss Options after/,/^.Sh/p' "$manual" | grep '^\.It' | tr ' ' '\n' | grep -A1 -x Cm | grep -vx -e Cm -e -- |
	grep -xFf <(echo "$in_help") | sort)
same "options of the manual" "$in_manual" "$in_help"
while read -r name default; do
	text=$(sed -n "/^\.It.*Cm $name\b/,/^\.It/p" "$manual" | tr '\n' ' ')
	[[ $text == *"(default: $default)"* || $text == *"Cm $default "*default* ]] || fail "the manual does not say that $name is $default by default"
done < <(sed -n 's/^  \([a-z_]*\)=[^ ]* .*(default: \([a-z0-9]*\))$/\1 \2/p' <<<"$help")
[[ $("$ZARRFS" --version) =~ ^zarrfs\ [0-9] ]] || fail "--version"

# completion. completes LINE WORD...: those are what bash offers at its end
# shellcheck disable=SC2034 # bash's own
completes()
{
	local COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS COMP_CWORD COMPREPLY
	read -r -a COMP_WORDS <<<"${1//[=:]/ & }"
	COMP_WORDS[0]=$ZARRFS
	[[ $1 != *' ' ]] || COMP_WORDS+=("")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_zarrfs
	same "what '$1' can become" "${COMPREPLY[*]}" "${*:2}"
}
compopt() { :; } # is for a completion under way
# shellcheck source=/dev/null
. "$here/../../fuse/zarrfs.bash"
mkdir "$tmp/stores" "$tmp/stores/one.zarr"
touch "$tmp/stores/two.zip" "$tmp/stores/three.txt"
completes "zarrfs --l" --ls
completes "zarrfs $tmp/stores/" "$tmp/stores/one.zarr" "$tmp/stores/two.zip"
completes "zarrfs -o end" endian= endpoint=
completes "zarrfs -o memory=1G,allow_o" 1G,allow_other
completes "zarrfs -o endian=l" little
completes "zarrfs -o memory=1G,list=flat:n" nc npy nc4
completes "zarrfs -o profile=" anon
completes "zarrfs $tmp/stores/one.zarr mnt -- cat $tmp/stores/th" "$tmp/stores/three.txt"
completes "zarrfs -o ca_bundle=$tmp/stores/th" "$tmp/stores/three.txt"

must_mount "$store" 'endian=big,memory=64M,metadata_ttl=immutable,timeout=20,umask=027,uid=12,gid=34,strlen=9,missing=403,consolidated=ignore,loglevel=warning,_netdev,nofail,user=me,x-systemd.automount,comment=a\,b,noatime,noexec,defaults'
config=$(cat "$mnt/.zarrfs/config")
same "options of config" "$(cut -d= -f1 <<<"$config" | grep -vx store | sort)" "$in_help"
for line in endian=big memory=67108864 metadata_ttl=immutable timeout=20 umask=027 uid=12 gid=34 strlen=9 missing=403 consolidated=ignore \
	loglevel=warning noexec=yes follow=no max_threads=64; do
	grep -qx "$line" <<<"$config" || fail "config does not say $line: $config"
done
same "owner and mode of a file" "$(stat -c '%u %g %a' "$mnt/sst")" "12 34 440"
same "owner and mode of the root" "$(stat -c '%u %g %a' "$mnt")" "12 34 550"
same "owner and mode of .zarrfs" "$(stat -c '%u %a' "$mnt/.zarrfs")" "$(id -u) 500"
options=$(awk -v at="$mnt" '$2 == at { print $3, $4 }' /proc/self/mounts)
for word in ro nosuid nodev noexec noatime default_permissions; do
	[[ ,${options#* }, == *,$word,* ]] || fail "not mounted $word: $options"
done
same "type" "${options% *}" fuse.zarrfs
same "name in df" "$(df --output=source "$mnt" | tail -1)" "$store"
[ ! -w "/sys/class/bdi/$(mountpoint -d "$mnt")/read_ahead_kb" ] || same "read ahead" "$(cat "/sys/class/bdi/$(mountpoint -d "$mnt")/read_ahead_kb")" 1024
umount_store

cp -r "$store" "$tmp/comma, back\\slash and blank.zarr"
must_mount "$tmp/comma, back\\slash and blank.zarr" read_ahead_kb=512
same "name in df" "$(df --output=source "$mnt" | tail -1)" "$tmp/comma, back\\slash and blank.zarr"
[ ! -w "/sys/class/bdi/$(mountpoint -d "$mnt")/read_ahead_kb" ] || same "read ahead" "$(cat "/sys/class/bdi/$(mountpoint -d "$mnt")/read_ahead_kb")" 512
umount_store

# read_again OPTIONS: $again, the read requests when sst is read a second time, and for a look at them. A kernel may let go of pages at any
# moment: the fewest of some times.
read_again()
{
	local before now
	must_mount "$store" "$1"
	cat "$mnt/sst" >"$tmp/sst"
	again=1000
	for _ in {1..8}; do
		before=$(stat_value 'fuse_requests_total{op="read"}')
		cmp "$mnt/sst" "$tmp/sst"
		now=$(stat_value 'fuse_requests_total{op="read"}')
		again=$((now - before < again ? now - before : again))
	done
	umount_store
}
read_again direct_io=auto
pages=$again
read_again direct_io=yes
same "requests for what is in pages" "$again" "$pages"
if [ "$(printf '%s\n' 6.6 "$(uname -r)" | sort -V | head -1)" = 6.6 ]; then
	read_again direct_io=all
	[ "$again" -gt "$pages" ] || fail "direct_io=all reads out of pages"
fi

# contradictions: the last counts, as with mount(8), whose own ro comes first, whatever the user wrote
cp -r "$store" "$tmp/contradicted.zarr"
for pair in rw,ro:rw=no writable,ro:rw=no ro,rw:rw=yes rw,ro,writable:rw=yes noexec,exec:noexec=no exec,noexec:noexec=yes; do
	must_mount "$tmp/contradicted.zarr" "${pair%:*}"
	grep -qx "${pair#*:}" "$mnt/.zarrfs/config" || fail "${pair%:*} is not ${pair#*:}"
	[[ ${pair#*:} != rw=* ]] || same "${pair%:*}" "$(awk -v at="$mnt" '$2 == at { print substr($4, 1, 2) }' /proc/self/mounts)" \
		"$([[ $pair == *=yes ]] && echo rw || echo ro)"
	umount_store
done
ln -s "$(readlink -f "$ZARRFS")" "$tmp/mount.zarrfs"
for pair in ro,writable:ro rw,writable:rw rw:ro; do
	"$tmp/mount.zarrfs" "$tmp/contradicted.zarr" "$tmp/at" -o "${pair%:*}" || fail "mount.zarrfs -o ${pair%:*}"
	same "mount.zarrfs -o ${pair%:*}" "$(awk -v at="$tmp/at" '$2 == at { print substr($4, 1, 2) }' /proc/self/mounts)" "${pair#*:}"
	fusermount3 -u "$tmp/at"
done

# written_as OPTIONS: a file that is written, read and mapped at once shows one content; $again, the requests of 8 readings of 4 KiB of it.
cp -r "$store" "$tmp/written.zarr"
written_as()
{
	must_mount "$tmp/written.zarr" "rw,$1"
	cp "$mnt/sst" "$tmp/sst"
	again=$(python3 - "$mnt/sst" "$tmp/sst" "$mnt/.zarrfs/stats" <<-'END'
		import mmap, os, re, sys
		path, copy, stats = sys.argv[1:]
		def requests():
		    return int(re.search(r'fuse_requests_total{op="read"} (\d+)', open(stats).read())[1])
		was = bytearray(open(copy, "rb").read())
		f = os.open(path, os.O_RDWR)
		before = requests()
		for _ in range(8):
		    assert os.pread(f, 4096, 0) == was[:4096]
		print(requests() - before)
		m = mmap.mmap(f, len(was))
		os.pwrite(f, b"ABCD", 8)
		was[8:12] = b"ABCD"
		assert m[:16] == was[:16], "a mapping does not show what was written"
		m[4:8] = was[4:8] = b"efgh"
		m.flush()
		assert os.pread(f, 16, 0) == was[:16], "read() does not show what a mapping wrote"
		m.close()
		os.close(f)
		assert open(path, "rb").read() == was
	END
	) || fail "$1"
	umount_store
}
written_as direct_io=no
pages=$again
for how in auto all; do
	written_as direct_io=$how
	[ "$(printf '%s\n' 6.18 "$(uname -r)" | sort -V | head -1)" != 6.18 ] || [ "$again" -ge $((pages + 7)) ] ||
		fail "direct_io=$how: a file that is written is read out of pages"
done
