# shellcheck shell=bash disable=SC2034,SC2154
# nginx_functions.sh: what tests behind a web server use besides functions.sh, which they read first.

nginx=$(PATH=$PATH:/usr/sbin command -v nginx) # "": there is none

# nginx_serves: stdin is what stands in its http block
nginx_serves()
{
	local user=
	[ "$(id -u)" != 0 ] || user="user root;"
	cat >"$tmp/nginx.conf" <<END
$user
daemon off; pid $tmp/nginx.pid; error_log $tmp/nginx.log;
events { worker_connections 1024; }
http {
  client_body_temp_path $tmp/t1; proxy_temp_path $tmp/t2; fastcgi_temp_path $tmp/t3; uwsgi_temp_path $tmp/t4; scgi_temp_path $tmp/t5;
$(cat)
}
END
}

# begin_nginx URL: until it answers there; its process is $web
begin_nginx()
{
	"$nginx" -p "$tmp" -c "$tmp/nginx.conf" 2>"$tmp/nginx.said" &
	web=$!
	eventually 60 curl -fsS -o /dev/null "$1" 2>/dev/null || fail "nginx does not answer: $(cat "$tmp/nginx.said")"
}
