# Two commands matter: `make demo` shows it, `make test` proves it. Both install what is
# missing (scripts/setup.sh says what) and write nothing outside of this checkout but
# packages and the ordinary caches of the tools.

SHELL := /bin/bash
# Where go.dev's archive goes; sudo and a bare shell leave it out.
export PATH := $(PATH):/usr/local/go/bin
# The version is stamped below. Go's own stamping fails where the checkout belongs to another user.
export GOFLAGS := -buildvcs=false $(GOFLAGS)

GIT       := git -c safe.directory='*'
VERSION   ?= $(shell test -e .git && $(GIT) describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS   := -X main.version=$(VERSION)
# 40 frames/s of both cameras together: 35 s.
FRAMES    ?= 1400
SNAPSHOT  ?= out/demo
BENCHTIME ?= 1s
BENCH     ?= --reps 3 --scale 0.5
FUZZTIME  ?= 30s
# What the compiler is told of the path: a sixth of its cost. Tests build without it, once for all.
PROFILE   ?= cmd/skewgate/path.pgo

.DEFAULT_GOAL := help
.PHONY: help demo test test-long build binaries bench pgo fmt lint setup clean

help: ## what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: ## what silence of detectors costs, then two films, four detectors, one answer a frame: about 70 s, ends with pictures
	@scripts/setup.sh demo
	@$(MAKE) --no-print-directory binaries
	@$(MAKE) --no-print-directory -s -C shm/c
	@scripts/demo.sh $(FRAMES) $(SNAPSHOT)

test: ## all checks of a change: a few minutes
	@scripts/setup.sh test
	@scripts/test.sh

test-long: ## full counts, race detector on everything, fuzzing for FUZZTIME a target
	@scripts/setup.sh test
	@FUZZTIME=$(FUZZTIME) scripts/test.sh long

build: ## bin/skewgate and bin/skewgate-detect
	@scripts/setup.sh build
	@$(MAKE) --no-print-directory binaries

# The appliance is pure Go; only the child that runs a model needs C.
binaries:
	CGO_ENABLED=0 go build -trimpath -pgo=$(PROFILE) -ldflags '$(LDFLAGS)' -o bin/skewgate ./cmd/skewgate
	CGO_ENABLED=1 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/skewgate-detect ./cmd/skewgate-detect

# A missed bound (3) is a finding, printed in the table; anything else is a failure.
bench: ## the rings against plain C and a bare futex in the same run, then all micro benchmarks: minutes
	CGO_ENABLED=0 go build -trimpath -pgo=$(PROFILE) -o bin/skewbench ./cmd/skewbench
	bin/skewbench all $(BENCH) --out out/bench || test $$? -eq 3
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./shm/... ./appliance/...

pgo: ## take the profile anew that the compiler is told of the path, cmd/skewgate/path.pgo
	scripts/pgo.sh

fmt: ## format all Go
	gofmt -w ./*/

lint: ## gofmt, go vet (both processors), shellcheck where it is installed
	@scripts/lint.sh

setup: ## install what demo and test need, without running them
	@scripts/setup.sh test

clean: ## remove what was built here; fetched parts in .cache stay
	rm -rf bin out shm/c/build .cache/test .cache/setup.log
