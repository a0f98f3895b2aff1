#!/usr/bin/env bash
# All checks of a change. `scripts/test.sh long` takes full counts, the race detector on
# everything and FUZZTIME of fuzzing a target. Ends in "N passed, N failed, N skipped".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

long=${1:-}
case $long in
'') ;;
long) # full counts: SKEWGATE_LONG is general, the others are those of the memory's tests
	export SKEWGATE_LONG=1 SHM_TEST_KILLS=10000 SHM_TEST_MESSAGES=5000000 SHM_TEST_WAKEUPS=100000 SHM_TEST_HOSTILE_MS=30000
	;;
*) echo 'want: scripts/test.sh [long]' >&2; exit 2 ;;
esac

kept=.cache/test # the JSON of every pass; the verdict is read from there
passes=()
step() { printf '\n== %s (at %d s)\n' "$*" "$SECONDS"; }

# pass NAME COMMAND…: one run of go test -json. A failing test does not end the run: the
# verdict comes at the end, over all passes.
pass() {
	local name=$1
	shift
	passes+=("$name")
	"$@" 2>&1 | bin/tally -dir "$kept" watch "$name" || true
}

# fuzz_all gives each fuzz target its time; go test takes one target a call.
fuzz_all() {
	local package target
	for package in $(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...); do
		for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
			go test -json -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 10x "$package"
		done
	done
}

step 'format, vet, shell'
scripts/lint.sh

step 'build: the appliance without cgo, the detector with it, all pure Go for arm64'
make --no-print-directory binaries
go build -o bin/tally ./scripts/tally
mapfile -t pure < <(scripts/pure-packages.sh)
CGO_ENABLED=0 GOARCH=arm64 go build "${pure[@]}"
rm -rf "$kept"

step 'tests of the parts'
mapfile -t parts < <(go list ./... | grep -v '/cmd/')
pass parts go test -json -count=1 -timeout 20m "${parts[@]}"

# The programs run whole appliances and look at rates, restarts and what is left in memory:
# one package at a time, with nothing else running.
step 'tests of the programs'
pass whole go test -json -count=1 -timeout 20m -p 1 ./cmd/...

# What shares memory between goroutines, as its own imports or those of its tests tell.
step 'tests under the race detector'
race=(./...)
[ -n "$long" ] || mapfile -t race < <(
	go list -f '{{.ImportPath}} {{.Imports}} {{.TestImports}} {{.XTestImports}}' "${parts[@]}" |
		grep -E '[[ ]sync(/atomic)?[] ]' | cut -d' ' -f1
)
pass race go test -json -race -count=1 -timeout 90m "${race[@]}"

# Memory order cannot be proved in emulation; layout, alignment and arithmetic can.
emulated=(./shm/... ./appliance/correlate/... ./appliance/clock/... ./appliance/detect/... ./appliance/hist/...)
if [ "$(uname -m)" != aarch64 ]; then
	step 'tests of memory and correlation for arm64, emulated'
	CGO_ENABLED=0 GOARCH=arm64 pass arm64 go test -json -count=1 -timeout 20m -exec qemu-aarch64-static "${emulated[@]}"
fi

if [ -n "$long" ]; then
	step "fuzzing, ${FUZZTIME:=30s} a target"
	pass fuzz fuzz_all
fi

step 'verdict'
bin/tally -dir "$kept" sum "${passes[@]}"
