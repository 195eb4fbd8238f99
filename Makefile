# The commands of the project. Everything is done by CMake and CTest; this file only names the usual sequences.
BUILD ?= build
BUILD_TYPE ?= Release
# Two gigabytes a compilation is what the largest files may take with a margin.
JOBS ?= $(shell awk -v cores=$$(nproc) '/MemAvailable/ { n = int($$2 / 2000000); print n < 1 ? 1 : (n < cores ? n : cores) }' /proc/meminfo)
CTEST = ctest --test-dir $(BUILD) --output-on-failure

.PHONY: build packages test-packages configure demo test test-slow bench docs format check clean

build: configure
	cmake --build $(BUILD) -j $(JOBS)

packages:
	@tools/install_packages.sh build

test-packages:
	@tools/install_packages.sh test

configure: packages
	cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=$(BUILD_TYPE)

# Fits a predator-prey model to a century of fur returns; leaves its plot in out/.
demo: configure
	cmake --build $(BUILD) -j $(JOBS) --target lynx_hare
	@mkdir -p out
	$(BUILD)/examples/lynx_hare
	@test -s out/lynx_hare.png && echo "the plot is in $(CURDIR)/out/lynx_hare.png"

test: test-packages build
	$(CTEST) -j $(JOBS) -LE slow

# Hours, not minutes: every f32 through every elementary function, long random programs.
test-slow: test-packages build
	$(CTEST) -L slow

# Measures Apsis and its peers (JAX, Equinox, Diffrax in a virtual environment of their own) in one run.
bench: configure
	bench/run.sh $(BUILD) $(JOBS)

docs:
	@tools/install_packages.sh docs
	tools/build_site.py $(BUILD)/docs
	@echo "the site is in $(CURDIR)/$(BUILD)/docs/index.html"

format:
	git ls-files '*.hpp' '*.cpp' | xargs clang-format -i

# What a reviewer would send back before reading: layout, headers that lean on others, names without a comment, formatting.
check:
	tools/check_structure.py
	tools/check_headers.py --jobs $(JOBS)
	tools/check_docs.py
	git ls-files '*.hpp' '*.cpp' | xargs clang-format --dry-run --Werror

clean:
	rm -rf $(BUILD)
