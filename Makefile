# SPDX-License-Identifier: GPL-2.0-only
# The front door: everything here calls CMake, ctest or a script of scripts/.
#
#   make            builds build/perf-latency
#   make run        builds, records a real workload and prints why its tasks slept
#   make test       builds and runs all tests
#   make test-asan  the same tests in a build with the address and undefined behaviour sanitizers
#   make lint       clang-format, clang-tidy, and the direction of every #include
#   make fuzz       libFuzzer on each target, FUZZ_SECONDS long
#   make bench      measures; BENCH=full for the large sizes
#   make golden     rewrites the expected outputs of tests/golden: read the diff afterwards
#   make doc        man pages
#   make install    DESTDIR and PREFIX as usual
#   make deb        a Debian package
#   make check-deb  lintian, and the package installed in a clean root (as root)
# What is missing is installed with apt first, as root or through sudo.

PREFIX ?= /usr/local
BUILD ?= build
ASAN_BUILD ?= $(BUILD)-asan
FUZZ_BUILD ?= $(BUILD)-fuzz
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
BENCH ?= small
TESTS ?=

DATA := $(CURDIR)/$(BUILD)/tests/data
SANITIZE := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
configure = cmake -S . -B $(1) -Wno-dev --log-level=WARNING -DCMAKE_INSTALL_PREFIX=$(PREFIX) \
	-DPL_TEST_DATA=$(DATA) $(shell command -v ninja > /dev/null && echo -G Ninja) \
	$(shell command -v ccache > /dev/null && \
	        echo -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache) $(2)
ctest = ctest --test-dir $(1) --output-on-failure --no-tests=error -j$(JOBS) $(if $(TESTS),-R '$(TESTS)')

all: tool

# Recursive calls, so that ninja and ccache, when the first step has installed them, are seen.
tool tests: deps
	@$(MAKE) --no-print-directory .$@
.tool: $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) -j$(JOBS) --target perf-latency
.tests: $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) -j$(JOBS)

$(BUILD)/CMakeCache.txt:
	@$(call configure,$(BUILD))

$(ASAN_BUILD)/CMakeCache.txt:
	@$(call configure,$(ASAN_BUILD),-DCMAKE_BUILD_TYPE=Plain -DPL_SANITIZED=ON \
		-DCMAKE_C_FLAGS='$(SANITIZE)' -DCMAKE_CXX_FLAGS='$(SANITIZE)')

$(FUZZ_BUILD)/CMakeCache.txt:
	@$(call configure,$(FUZZ_BUILD),-DCMAKE_BUILD_TYPE=Plain -DPL_SANITIZED=ON \
		-DCMAKE_C_COMPILER=clang-16 -DCMAKE_CXX_COMPILER=clang++-16 \
		-DCMAKE_C_FLAGS='$(SANITIZE) -fsanitize=fuzzer-no-link' \
		-DCMAKE_CXX_FLAGS='$(SANITIZE) -fsanitize=fuzzer-no-link')

deps:
	@scripts/deps build

run: tool
	@scripts/run-demo $(BUILD)

test: tests
	@$(call ctest,$(BUILD))

test-asan: deps
	@$(MAKE) --no-print-directory .test-asan
.test-asan: $(ASAN_BUILD)/CMakeCache.txt
	@cmake --build $(ASAN_BUILD) -j$(JOBS)
	@$(call ctest,$(ASAN_BUILD))

golden: tool
	@scripts/unpack-fixtures $(DATA)
	@scripts/golden write $(BUILD)/perf-latency $(DATA)

fuzz: deps
	@scripts/deps lint
	@$(MAKE) --no-print-directory .fuzz
.fuzz: $(FUZZ_BUILD)/CMakeCache.txt
	@cmake --build $(FUZZ_BUILD) -j$(JOBS) --target fuzz_targets
	@scripts/fuzz $(FUZZ_BUILD) $(FUZZ_SECONDS)

lint: deps
	@scripts/deps lint
	@$(MAKE) --no-print-directory .lint
.lint: $(BUILD)/CMakeCache.txt
	@scripts/lint $(BUILD)

bench: tool
	@BENCH=$(BENCH) bench/run $(BUILD)

doc: deps $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) --target doc

install: tool doc
	@cmake -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(BUILD) > /dev/null
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD)

deb: tool doc
	@cmake -DCMAKE_INSTALL_PREFIX=/usr $(BUILD) > /dev/null
	@cd $(BUILD) && cpack -G DEB

check-deb: deb
	@scripts/unpack-fixtures $(DATA)
	@scripts/check-deb "$$(ls -t $(BUILD)/perf-latency_*.deb | head -n 1)" $(DATA)/lt-sleep/perf.data $(DATA)/lt-sleep/kallsyms

clean:
	rm -rf $(BUILD) $(ASAN_BUILD) $(FUZZ_BUILD)

.PHONY: all tool tests .tool .tests deps run test test-asan .test-asan golden fuzz .fuzz lint .lint \
	bench doc install deb check-deb clean
