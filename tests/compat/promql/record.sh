#!/bin/sh
# Writes answers.jsonl anew: what Prometheus itself answers to queries.jsonl about series.jsonl.
# Needs prometheus and promtool (Debian package `prometheus`), curl and jq. Talks to loopback only.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
port=${PORT:-19471}
server=""
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

# OpenMetrics: each sample with its labels and its time in seconds.
jq -r '(.labels.__name__ + "{" + ([.labels | to_entries[] | select(.key != "__name__")
        | .key + "=" + (.value | tojson)] | join(",")) + "}") as $series
    | .samples[] | "\($series) \(.[1]) \(.[0] / 1000)"' series.jsonl >"$work/series.om"
echo "# EOF" >>"$work/series.om"
promtool tsdb create-blocks-from openmetrics "$work/series.om" "$work/data" >/dev/null
echo "" >"$work/prometheus.yml"
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/data" --storage.tsdb.retention.time=100y \
    --web.listen-address="127.0.0.1:$port" >"$work/log" 2>&1 &
server=$!
until curl -sf "http://127.0.0.1:$port/-/ready" >/dev/null; do
    kill -0 "$server" || { cat "$work/log"; exit 1; }
    sleep 0.2
done

while IFS= read -r row; do
    path=$(printf %s "$row" | jq -r 'if has("step") then "query_range" else "query" end')
    printf %s "$row" | jq -rj 'to_entries | map(.key + "=" + (.value | @uri)) | join("&")' >"$work/form"
    status=$(curl -s -o "$work/body" -w '%{http_code}' --data-binary "@$work/form" \
        -H 'Content-Type: application/x-www-form-urlencoded' "http://127.0.0.1:$port/api/v1/$path")
    printf %s "$row" | jq -c --arg status "$status" --slurpfile body "$work/body" \
        '{path: "/api/v1/'"$path"'", asked: ., status: ($status | tonumber), body: $body[0]}'
done <queries.jsonl >answers.jsonl
wc -l answers.jsonl
