# The front door, thin over the presets in CMakePresets.json. PRESET=debug make test takes another.

PRESET ?= release
PREFIX ?= /usr/local
ARGS ?=
# More for the configuring of build, run and test: -DCORACLE_...=...
CMAKE_ARGS ?=
FUZZ_SECONDS ?= 30
# The parts of the benchmarks: bench/run.py, bench/client.py and so on.
BENCH ?= run client tls h2 websocket mail loadgen echo datagrams micro
export FUZZ_SECONDS

.DEFAULT_GOAL := help
.PHONY: help setup setup-build build run test conformance bench lint fuzz check-long install docs site clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  PRESET=release|debug|clang|asan|tsan|gcc-asan chooses the build for build, run and test,"
	@echo "  ARGS=... is passed to the program (run), to ctest (test) or to the benchmarks (bench)."
	@echo "  BENCH=run|client|tls|h2|websocket|mail|loadgen|echo|datagrams|micro chooses a part of the benchmarks: make bench BENCH=echo ARGS=--quick"

setup: ## install what is missing to build, test and measure
	@scripts/setup.sh all

setup-build:
	@scripts/setup.sh build

build: setup-build ## build everything into build/PRESET
	@cmake --preset $(PRESET) $(CMAKE_ARGS) >/dev/null
	@cmake --build --preset $(PRESET)

run: setup-build ## build and serve the welcome page on 127.0.0.1:8080
	@cmake --preset $(PRESET) $(CMAKE_ARGS) >/dev/null
	@cmake --build --preset $(PRESET) --target coracle_tool
	@exec build/$(PRESET)/bin/coracle serve $(ARGS)

test: setup ## build and run every test
	@cmake --preset $(PRESET) $(CMAKE_ARGS) >/dev/null
	@cmake --build --preset $(PRESET)
	@ctest --preset $(PRESET) -j "$$(nproc)" $(ARGS)

conformance: setup ## run the whole Autobahn testsuite against the WebSocket of both sides
	@cmake --preset release $(CMAKE_ARGS) >/dev/null
	@cmake --build --preset release --target websocket_echo websocket_client soak_relay
	@python3 tests/conformance/autobahn.py $(ARGS)

bench: setup ## measure against limits and peers, write docs/benchmarks*.md
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target coracle_programs
	@for part in $(BENCH); do python3 bench/$$part.py $(ARGS) || exit 1; done

lint: setup ## formatting, clang-tidy, layers, clocks, headers, documents
	@scripts/lint.sh

fuzz: setup ## run each fuzz target for FUZZ_SECONDS (30)
	@scripts/run_fuzz.sh

check-long: setup ## what takes long: long fuzzing, repeated tests, soak
	@scripts/check_long.sh

install: build ## install into PREFIX (/usr/local)
	@cmake --install build/$(PRESET) --prefix "$(PREFIX)"

docs: setup ## check the documents: links, and the code they show
	@scripts/check_docs.py

site: ## make the site in build/site; its tools go into the user's cache
	@scripts/make_site.py

clean: ## remove every build
	@rm -rf build
