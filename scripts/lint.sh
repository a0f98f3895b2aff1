#!/usr/bin/env bash
# What can be said of the source without running it: formatting, go vet here and for arm64
# (which checks the assembly too), the shell scripts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

unformatted=$(gofmt -l ./*/)
if [ -n "$unformatted" ]; then
	printf 'not formatted; make fmt does it:\n%s\n' "$unformatted" >&2
	exit 1
fi
go vet ./...
mapfile -t pure < <(scripts/pure-packages.sh)
CGO_ENABLED=0 GOARCH=arm64 go vet "${pure[@]}"
for script in scripts/*.sh .ci/run; do
	bash -n "$script"
done
if command -v shellcheck >/dev/null; then
	shellcheck scripts/*.sh .ci/run
fi
