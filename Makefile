# The front door. CMake and its presets (CMakePresets.json) do the work.
.PHONY: all test bench install setup coverage fuzz valgrind format tidy clean
PREFIX ?= /usr/local

all:
	@cmake --preset release >/dev/null && cmake --build --preset release

setup:      ; tools/setup
test:       ; tests/run
valgrind:   ; tests/valgrind
coverage:   ; tools/coverage
fuzz:       ; tools/fuzz
format:     ; tools/format
tidy:       ; tools/tidy
install:    all ; cmake --install build/release --prefix $(PREFIX)
clean:      ; rm -rf build

bench:
	@cmake --preset bench >/dev/null && cmake --build --preset bench
	bench/run build/bench
