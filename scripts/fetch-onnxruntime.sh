#!/usr/bin/env bash
# Puts ONNX Runtime's CPU library where the build, the tests and the demo look for it:
# .cache/onnxruntime/1.27.0/libonnxruntime.so.1 in this checkout. Prints the library's path.
#
#   scripts/fetch-onnxruntime.sh               out of the npm package onnxruntime-node (npm pack, about 100 MB once)
#   scripts/fetch-onnxruntime.sh --from FILE   out of that package's tarball, or the library itself, fetched elsewhere
#   SKEWGATE_ONNXRUNTIME=/path/libonnxruntime.so.1   another build of ONNX Runtime >= 1.24; nothing is fetched
#
# Once the library is there and its SHA-256 is the pinned one, nothing is done and no network is needed.
set -euo pipefail

version=1.27.0
package="onnxruntime-node@$version"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir="$root/.cache/onnxruntime/$version"
lib="$dir/libonnxruntime.so.1"

say() { printf 'fetch-onnxruntime: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

from=
case $# in
0) ;;
2) [ "$1" = --from ] || die "unknown argument \"$1\"; use --from FILE or nothing"; from=$2 ;;
*) die "use --from FILE or nothing" ;;
esac

if [ -n "${SKEWGATE_ONNXRUNTIME:-}" ] && [ -z "$from" ]; then
	[ -f "$SKEWGATE_ONNXRUNTIME" ] ||
		die "SKEWGATE_ONNXRUNTIME names \"$SKEWGATE_ONNXRUNTIME\", which is not a file; point it at libonnxruntime.so.1 or unset it"
	printf '%s\n' "$SKEWGATE_ONNXRUNTIME"
	exit 0
fi

# The pins are of the library, not of the tarball: it is what runs.
case $(uname -m) in
x86_64) arch=x64 pin=d8aff4aa8abee8fb2abb2f2f2459ffc94461e781e41b9f7c072829dd0d470221 ;;
aarch64) arch=arm64 pin=c36bc200e7e6c093b8abb0b34590fbdd8c52fd3fb5e33795b9523ffdde2fce0f ;;
*) die "no pinned ONNX Runtime for $(uname -m); set SKEWGATE_ONNXRUNTIME to a libonnxruntime.so >= 1.24 built for it" ;;
esac
member="package/bin/napi-v6/linux/$arch/libonnxruntime.so.1"

hash_of() { sha256sum -- "$1" | cut -d' ' -f1; }

if [ -f "$lib" ] && [ -z "$from" ]; then
	if [ "$(hash_of "$lib")" = "$pin" ]; then
		printf '%s\n' "$lib"
		exit 0
	fi
	say "$lib is damaged (its SHA-256 is not the pinned one); it is fetched again"
fi

mkdir -p "$dir"
tmp=$(mktemp -d "$dir/fetch.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

if [ -z "$from" ]; then
	command -v npm >/dev/null ||
		die "npm is not installed; install it (apt-get install npm), or fetch the tarball of $package elsewhere and use --from FILE, or set SKEWGATE_ONNXRUNTIME to a libonnxruntime.so >= 1.24"
	say "fetching $package with npm pack (about 100 MB, once)"
	(cd "$tmp" && npm pack --silent --ignore-scripts "$package" >/dev/null) ||
		die "npm pack $package did not work; see npm's words above. Without npm: --from FILE or SKEWGATE_ONNXRUNTIME, as told at the top of this script"
	from=$(find "$tmp" -maxdepth 1 -name '*.tgz' | head -n 1)
	[ -n "$from" ] || die "npm pack $package left no tarball in $tmp"
fi

[ -f "$from" ] || die "\"$from\" is not a file; --from takes the tarball of $package or its libonnxruntime.so.1"
# A gzip file begins with 1f 8b; anything else is taken for the library itself, and the hash decides.
if [ "$(head -c 2 -- "$from" | od -An -tx1 | tr -d ' \n')" = 1f8b ]; then
	tar -xzOf "$from" "$member" >"$tmp/lib" ||
		die "\"$from\" holds no $member; it must be the tarball of $package"
else
	cp -- "$from" "$tmp/lib"
fi
got=$(hash_of "$tmp/lib")
[ "$got" = "$pin" ] ||
	die "the library out of \"$from\" has SHA-256 $got, pinned is $pin ($arch, $version); for another build set SKEWGATE_ONNXRUNTIME instead"
chmod 0644 "$tmp/lib"
mv -f -- "$tmp/lib" "$lib" # same folder: a rename, so no reader ever sees half a library
say "$lib is in place (ONNX Runtime $version, $arch)"
printf '%s\n' "$lib"
