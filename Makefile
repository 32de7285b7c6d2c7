# Shortcuts for CMake with the presets of CMakePresets.json.
.PHONY: all test reference bench eval eval-crowd crash install uninstall deb tarball npm
.PHONY: package-test setup coverage fuzz valgrind format tidy clean
PREFIX ?= /usr/local

all:
	@cmake --preset release >/dev/null && cmake --build --preset release
	@tools/model || echo "make: without the model, fumi searches by keyword only" >&2
	@tools/edict || echo "make: without the dictionary, the model hardly understands Japanese" >&2

setup:      ; tools/setup
test:       ; tools/setup && tests/run
valgrind:   ; tests/valgrind
coverage:   ; tools/coverage
fuzz:       ; tools/fuzz
format:     ; tools/format
tidy:       ; tools/tidy
install:    all ; cmake --install build/release --prefix "$(PREFIX)"
uninstall:  ; tools/uninstall "$(PREFIX)"
deb:        all ; cpack --config build/release/CPackConfig.cmake -B build/package
tarball:    all ; tools/build static && tools/tarball
npm:        all ; tools/build static && tools/npm
# Installs the packages on fresh systems of Debian 12 and 13. Needs root and debootstrap.
package-test: deb npm
	tests/install/fresh build/package/fumi_*.deb build/package/fumi-memory-*.tgz bookworm trixie

clean:      ; rm -rf build

# Regenerates docs/REFERENCE.md from the tables of the program.
reference:
	@cmake --preset release >/dev/null && cmake --build --preset release --target reference
	docs/update build/bin/reference

bench:
	@cmake --preset bench >/dev/null && cmake --build --preset bench
	bench/run build/bench

# The long versions of the crash tests.
crash:
	@cmake --preset release >/dev/null && cmake --build --preset release --target crash

# Measures the quality of search, in about ten minutes; eval-crowd: among 80,000 short notes. DATA is the directory of the
# published data sets, QUERIES the most queries of each set.
DATA ?= ../shared/data
QUERIES ?= 1000000
CROWD ?= 80000
eval: all
	@cmake --preset bench >/dev/null && cmake --build --preset bench --target eval
	@FUMI_MODEL=build/share/fumi/fumi-minilm.bin build/bench/bench/eval $(DATA) $(QUERIES)
eval-crowd: all
	@cmake --preset bench >/dev/null && cmake --build --preset bench --target eval
	@FUMI_MODEL=build/share/fumi/fumi-minilm.bin build/bench/bench/eval $(DATA) $(QUERIES) $(CROWD)
