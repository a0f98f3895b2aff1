#!/usr/bin/env bash
# Takes the profile that the programs of the path are built with: cmd/skewgate/path.pgo.
# Worth a run when the path has changed much; a profile that is a little old does no harm.
set -euo pipefail
cd "$(dirname "$0")/.."

profile=cmd/skewgate/path.pgo
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# take PACKAGE BENCHMARK TIMES: one profile, of code that was built without one.
take() {
	local name=${1//\//-}
	go test -trimpath -pgo=off -c -o "$work/$name.test" "./$1"
	(cd "$1" && "$work/$name.test" -test.run '^$' -test.bench "$2" -test.benchtime "$3" -test.cpuprofile "$work/$name.pb")
}

take bench '^BenchmarkIntake$' 3000000x
take appliance '^BenchmarkTurn$/^[13]x' 400000x
go tool pprof -proto "$work"/*.pb >"$work/merged.pb.gz" 2>"$work/said" || { cat "$work/said" >&2; exit 1; }

# The profile names the files that were run: where this machine had them is nobody's business.
python3 - "$work" "$profile" <<'PY'
import gzip, sys
work, profile = sys.argv[1:]
text = gzip.open(work + "/merged.pb.gz").read()
text = text.replace(work.encode(), b"x" * len(work))
with open(profile, "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
    z.write(text)
PY
echo "pgo: $profile, $(stat -c %s "$profile") bytes"
