#!/usr/bin/env bash
# Installs what is missing on a Debian machine, says what, and does nothing the second time.
#
#   scripts/setup.sh build   a C compiler, for the one cgo program
#   scripts/setup.sh demo    that, ffmpeg, ONNX Runtime and Python
#   scripts/setup.sh test    that, compilers for the C library, numpy, qemu to run
#                            the arm64 tests, and all Go modules
#
# Packages come through apt-get, as root or by sudo. Outside of this checkout nothing else is
# written but the ordinary caches of go and npm.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PATH:/usr/local/go/bin # where go.dev's archive goes; sudo drops it from PATH

go_min=1.21     # the first Go that fetches the toolchain go.mod names
ffmpeg_min=5.1  # the first with -fps_mode; Debian 12 has it

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$@" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# at_least A B: version A is B or newer.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

mode=${1:-}
case $mode in
build | demo | test) ;;
*) die 'want: scripts/setup.sh build|demo|test' ;;
esac

# Go first: without it there is no point in installing anything. Asked from outside of the
# checkout, go answers for itself and does not look for another toolchain.
check_go() {
	have go || die "Go is not installed, and Debian 12's own package (1.19) is too old for this project" \
		"get Go $go_min or newer from https://go.dev/dl/, unpack it (tar -C /usr/local -xzf go*.linux-*.tar.gz), and run this again" \
		"(/usr/local/go/bin is looked at even when PATH does not name it)"
	local version
	version=$(cd / && GOTOOLCHAIN=local go env GOVERSION)
	version=${version#go}
	case $version in
	devel*) return ;;
	esac
	at_least "$version" "$go_min" || die "$(command -v go) is Go $version; this project needs $go_min or newer" \
		"get one from https://go.dev/dl/ and put it before the old one in PATH (or remove the old: apt-get remove golang-go)"
}

# The toolchain that go.mod names: a newer Go will do, an older one fetches it once.
# go list -m reads go.mod and nothing else, so a Go that must not fetch says so here.
check_toolchain() {
	local words
	words=$(go list -m 2>&1) || die "$words" \
		"$(sed -n 's/^go /go.mod asks for Go /p' go.mod); the installed one fetches it once when it may" \
		"cure: unset GOTOOLCHAIN (go env GOTOOLCHAIN must say auto, it says $(cd / && go env GOTOOLCHAIN)) and have a network, or install that Go from https://go.dev/dl/"
}

runtime_there() {
	local lib
	for lib in "${SKEWGATE_ONNXRUNTIME:-}" .cache/onnxruntime/*/libonnxruntime.so.1; do
		[ -f "$lib" ] && return
	done
	return 1
}

# python_there: one with numpy, which half of the Python binding's tests are about.
python_there() {
	local python
	for python in "${SKEWGATE_PYTHON:-python3}" /usr/bin/python3; do
		"$python" -c 'import numpy' 2>/dev/null && return
	done
	return 1
}

# missing prints the Debian packages that are not there, by what they bring rather than by
# name: a compiler or an npm from elsewhere will do.
missing() {
	[ -s /etc/ssl/certs/ca-certificates.crt ] || echo ca-certificates # to fetch modules with
	have "${CC:-gcc}" || echo gcc
	[ -e /usr/include/stdlib.h ] || echo libc6-dev
	[ "$mode" = build ] && return
	have ffmpeg || echo ffmpeg
	runtime_there || have npm || echo npm # only to fetch ONNX Runtime with; docs/onnxruntime.md does without
	if [ "$mode" = demo ]; then
		have "${SKEWGATE_PYTHON:-python3}" || echo python3 # one of the demo's detectors
		return
	fi
	# The C library is built and tried with each compiler it is made for.
	[ -z "${CC:-}" ] || have gcc || echo gcc
	have clang || echo clang
	python_there || echo python3-numpy # and python3 with it
	[ "$(uname -m)" = aarch64 ] && return
	have qemu-aarch64-static || echo qemu-user-static
	have aarch64-linux-gnu-gcc || echo gcc-aarch64-linux-gnu
	[ -e /usr/aarch64-linux-gnu/include/stdlib.h ] || echo libc6-dev-arm64-cross
}

# as_root runs a command as root, by sudo where we are not, and says what to do where there is no way.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif have sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
		sudo "$@"
	else
		die "missing: ${packages[*]}; installing needs root, and sudo is not there or refuses" \
			'have an administrator run, once:' \
			"    apt-get update && apt-get install --no-install-recommends ${packages[*]}" \
			'then run this again'
	fi
}

install_packages() {
	have apt-get || die "these are missing: ${packages[*]} (names of Debian's packages)" \
		'this machine has no apt-get; install the like with its own package manager and run this again'
	as_root true
	say "installing with apt-get: ${packages[*]} (log: .cache/setup.log)"
	mkdir -p .cache
	local options=(-q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
	# A source that does not answer need not be the one that has the packages: install decides.
	as_root apt-get "${options[@]}" update >.cache/setup.log 2>&1 ||
		say 'apt-get update had errors (see the log); trying to install all the same'
	if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" install -y --no-install-recommends \
		"${packages[@]}" >>.cache/setup.log 2>&1; then
		tail -n 15 .cache/setup.log >&2
		die "apt-get could not install ${packages[*]}; its last words are above, all of them in .cache/setup.log"
	fi
}

check_ffmpeg() {
	local version
	version=$(ffmpeg -version 2>/dev/null | sed -n '1s/^ffmpeg version n\{0,1\}\([0-9][0-9.]*\).*/\1/p') || true
	# A build from git calls itself N-12345: newer than any release we would refuse.
	[ -z "$version" ] || at_least "$version" "$ffmpeg_min" ||
		die "$(command -v ffmpeg) is version $version; capture needs $ffmpeg_min or newer (Debian 12's package is)"
}

did=
check_go
mapfile -t packages < <(missing)
if [ ${#packages[@]} -gt 0 ]; then
	install_packages
	did=1
fi
check_toolchain
if [ "$mode" != build ]; then
	check_ffmpeg
	runtime_there || did=1
	scripts/fetch-onnxruntime.sh >/dev/null
fi
# All modules, those of the tests too, so that everything works offline from here on.
if [ "$mode" = test ] && ! GOPROXY=off go mod download >/dev/null 2>&1; then
	say 'fetching the Go modules that go.mod names'
	go mod download || die 'go could not fetch them; that needs a network, once'
	did=1
fi
if [ -n "$did" ]; then
	say "all that $mode needs is here now"
else
	say "nothing to do, all that $mode needs is here"
fi
