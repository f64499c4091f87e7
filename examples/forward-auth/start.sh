#!/bin/sh
# Starts authsite, the application, and the proxy in front of both: http://localhost:8080
# Give the proxy: nginx, traefik or caddy. Ctrl-C ends all three.
set -eu
proxy=${1:?give nginx, traefik or caddy}
here=$(cd "$(dirname "$0")" && pwd)
authsite=${AUTHSITE:-$here/../../.venv/bin/authsite}
[ -x "$authsite" ] || make -C "$here/../.." .venv/.runtime
PATH=$PATH:/usr/sbin
cd "$here/../$proxy"
mkdir -p var

pids=
trap 'trap - EXIT; kill $pids; wait' EXIT INT TERM
"$authsite" serve --init --config "$here/authsite.ini" --port 6543 &
pids="$pids $!"
python3 "$here/app.py" &
pids="$pids $!"
case $proxy in
    nginx) nginx -p . -c nginx.conf -e stderr & ;;
    traefik) traefik --configFile=traefik.yml & ;;
    caddy) caddy run --config Caddyfile & ;;
esac
pids="$pids $!"
wait
