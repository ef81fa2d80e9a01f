# shellcheck shell=bash disable=SC2034,SC2154
# s3_functions.sh: what tests with servers use besides functions.sh, which they read first. After begin_radosgw or begin_swift there are
# S3_ENDPOINT and the other names in test/tools/radosgw, the signature in the environment, where zarrfs looks for it, and s3 VERB ….
# The user's own settings are out of sight.

tools=$here/../tools
for name in $(compgen -e AWS_) $(compgen -e S3_) $(compgen -e NCRCENV_) $(compgen -e GS_); do
	unset "$name"
done
for name in http_proxy https_proxy all_proxy no_proxy; do
	unset $name ${name^^}
done
export HOME=$tmp/home AWS_EC2_METADATA_DISABLED=true
mkdir "$HOME"

s3()
{
	"$tools/s3" "$@" || fail "s3 $*"
}

# begin_server TOOL: or the test ends here
begin_server()
{
	local said status=0
	said=$("$tools/$1" --owner $$ start "$tmp/$1" 2>&1) || status=$?
	[ $status != 77 ] || skip "$said"
	[ $status = 0 ] || { fail "$said"; exit 1; }
	set -a
	# shellcheck disable=SC1090 # made by the tool
	. "$tmp/$1/env"
	set +a
	sign
}

begin_radosgw()
{
	begin_server radosgw
	export AWS_ENDPOINT_URL_S3=$S3_ENDPOINT
}

# begin_bucket: a server with a store in bucket/store.zarr; it is $tmp/store.zarr, what is in it $tmp/want
begin_bucket()
{
	"$python" "$here/s3.py" store "$tmp/store.zarr" "$tmp/want" || exit 1
	begin_radosgw
	s3 make bucket
	s3 put "$tmp/store.zarr" bucket/store.zarr
}

begin_swift()
{
	begin_server swift
	export AWS_ENDPOINT_URL_S3=$S3_ENDPOINT
}

# sign: the right signature for what is started next
sign()
{
	unset AWS_SESSION_TOKEN AWS_PROFILE
	export AWS_ACCESS_KEY_ID=$S3_KEY AWS_SECRET_ACCESS_KEY=$S3_SECRET
}

# unsign: no signature in the environment
unsign()
{
	unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE
}

# session NAME [SECONDS]: keys of a new session, for ever or for so long, as lines in $tmp/NAME and for a credential_process in $tmp/NAME.json
session()
{
	local until=2099-01-01T00:00:00Z
	[ -z "${2:-}" ] || until=$(date -u -d "+$2 seconds" +%Y-%m-%dT%H:%M:%SZ)
	"$tools/s3" token >"$tmp/$1" || fail "no session token"
	sed -E "s/^AWS_ACCESS_KEY_ID=(.*)/{\"Version\": 1, \"AccessKeyId\": \"\1\",/; s/^AWS_SECRET_ACCESS_KEY=(.*)/\"SecretAccessKey\": \"\1\",/
		s|^AWS_SESSION_TOKEN=(.*)|\"SessionToken\": \"\1\", \"Expiration\": \"$until\"}|" "$tmp/$1" >"$tmp/$1.json"
}

# begin_proxy [URL]: in front of radosgw or of URL; zarrfs is sent there from now on. A second time: the same port again.
begin_proxy()
{
	local said port=${PROXY##*:}
	# shellcheck disable=SC2086 # none or one word
	said=$("$tools/proxy" --owner $$ start "$tmp/proxy" "${1:-$S3_ENDPOINT}" $port 2>&1) || { fail "$said"; exit 1; }
	. "$tmp/proxy/env"
	export AWS_ENDPOINT_URL_S3=$PROXY
}
PROXY=

end_proxy()
{
	"$tools/proxy" stop "$tmp/proxy"
}

# fault QUERY: as test/tools/proxy has it
fault()
{
	local query=${*// /%20}
	curl -s -X POST "$PROXY/-/fault?$query" || fail "the proxy does not take '$*'"
}

calm()
{
	curl -s -X DELETE "$PROXY/-/fault" || fail "the proxy is gone"
}

# forget: what was asked so far
forget()
{
	curl -s -X DELETE "$PROXY/-/log" || fail "the proxy is gone"
}

# under_way: requests that are not answered to their end
under_way()
{
	curl -s "$PROXY/-/counts" | sed 's/.*"now": *\([0-9]*\).*/\1/'
}

# shellcheck disable=SC2317 # by eventually
all_answered()
{
	[ "$(under_way)" = 0 ]
}

# requests [REGEX]: how many since then, of those whose line "METHOD TARGET RANGE STATUS BYTES FAULT" fits
requests()
{
	curl -s "$PROXY/-/log" | grep -cE -- "${1:-.}"
}

asked()
{
	curl -s "$PROXY/-/log"
}

# refused STORE OPTIONS REGEX: it is not mounted, and the message says why
refused()
{
	if mount_store "$1" "$2"; then
		fail "'$1' is mounted (wanted: $3)"
		umount_store
		return
	fi
	mounts["$mnt"]=
	wait "$daemon" && fail "'$1' is refused with status 0"
	grep -qE -- "$3" "$log" || fail "'$1' is refused with '$(cat "$log")', not '$3'"
	! grep -qF -- "$S3_SECRET" "$log" || fail "the message shows the secret"
}

# same_files MNT WANT WHAT: every file below WANT is below MNT, with these bytes
same_files()
{
	local file
	while IFS= read -r -d '' file; do
		cmp "$1/$file" "$2/$file" || fail "$3: $file"
	done < <(cd "$2" && find . -type f -printf '%P\0')
}
