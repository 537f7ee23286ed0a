# `make` lists what there is. Each target sets up what it needs in .venv, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The oldest Python that is supported: the oldest numpy has no wheels for new ones.
OLDEST_PYTHON ?= python3.11
OLDEST := .venv-oldest
# The core rooms; what needs torch, JAX, LightGBM or XGBoost is skipped there.
OLDEST_TESTS := $(addprefix tests/,_base selection guarantees bags audit metrics ensemble plot cli test_package.py)
# Of the native code, the machine, kills and the mathematics, whatever the dependencies are.
OLDEST_LEFT_OUT := -m "not trial" --hypothesis-profile=oldest $(addprefix --ignore=tests/_base/,test_simd.py test_compilers.py test_same_bits.py test_interrupts.py test_saved_folders.py)
PLATFORMS := build/platforms
NATIVE := CMakeLists.txt $(shell find native -type f)

.PHONY: help demo test test-oldest lint docs docs-versions platforms trials sanitize bench dist clean

help:
	@echo "make demo         set up, then run the demonstration"
	@echo "make test         set up, then run linters, type checks and the whole test suite"
	@echo "make test-oldest  set up with the oldest supported dependencies, then run the core tests"
	@echo "make docs         set up, then build the documentation site into build/docs, check its links and layout"
	@echo "make docs-versions  after make docs: the site with a folder per release, as it is hosted, in build/site"
	@echo "make platforms    the native code built by Clang, and for ARM on an emulated CPU: core tests, and the same bits"
	@echo "make trials       the long trials: millions of cases"
	@echo "make sanitize     the native code under sanitizers: its tests, and fuzzers of functions and files"
	@echo "make bench        measure: ratios against named rivals, in one run"
	@echo "make dist         the source distribution and a wheel in dist/, checked as a package index would"
	@echo "make clean        remove what was built"

# Python sources are read in place; only a change of the build or of native code installs again.
$(VENV)/.core: pyproject.toml tools/setup-venv $(NATIVE)
	@tools/setup-venv $(VENV) "$(if $(wildcard $(VENV)/.test),test,demo)" $(PYTHON)
	@touch $@

$(VENV)/.test: pyproject.toml tools/setup-venv $(NATIVE)
	@tools/setup-venv $(VENV) test $(PYTHON)
	@touch $@ $(VENV)/.core

$(VENV)/.docs: pyproject.toml tools/setup-venv $(NATIVE)
	@tools/setup-venv $(VENV) docs $(PYTHON)
	@touch $@ $(VENV)/.core

$(OLDEST)/.test: pyproject.toml tools/setup-venv tools/floors.py $(NATIVE)
	@tools/setup-venv $(OLDEST) test-core $(OLDEST_PYTHON) oldest
	@touch $@

demo: $(VENV)/.core
	@$(BIN)/steadyset demo

lint: $(VENV)/.test
	@echo "lint: ruff, mypy, import rules"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

test: lint
	@echo "test: the whole suite"
	@$(BIN)/python -m pytest -n 2 --dist worksteal -q

# matplotlib 3.10.0 calls what newer releases of pyparsing have renamed.
test-oldest: $(OLDEST)/.test
	@$(OLDEST)/bin/python tools/floors.py check test-core
	@echo "test-oldest: the core tests"
	@$(OLDEST)/bin/python -m pytest -n 2 --dist worksteal -q -W ignore::pyparsing.warnings.PyparsingDeprecationWarning $(OLDEST_LEFT_OUT) $(OLDEST_TESTS)

docs: $(VENV)/.docs
	@echo "docs: the site, warnings are errors"
	@rm -rf build/docs build/doctrees docs/api
	@$(BIN)/python -m sphinx -q -W --keep-going -n -b html -d build/doctrees docs build/docs
	@$(BIN)/python tools/check_links.py build/docs
	@$(BIN)/python tools/check_layout.py build/docs
	@echo "docs: open build/docs/index.html"

docs-versions: $(VENV)/.docs
	@$(BIN)/python tools/site_versions.py build/docs build/site

# An arm64 Python and its packages, from Debian and PyPI, unpacked and not installed.
$(PLATFORMS)/arm64/name: pyproject.toml tools/platforms/arm64-python | $(VENV)/.test
	@tools/platforms/arm64-python $(PLATFORMS)/arm64 $(BIN)/python

# BUILDS are those that are made and run.
BUILDS ?= clang aarch64 aarch64-clang
platforms: $(VENV)/.test $(PLATFORMS)/arm64/name
	@for build in $(BUILDS); do tools/platforms/build $$build $(VENV) || exit 1; done
	@tools/platforms/run $(VENV) $(BUILDS)

trials: $(VENV)/.test
	@echo "trials: full size"
	@STEADYSET_TRIALS=full $(BIN)/python -m pytest -n 2 -q -m trial tests

# SECONDS is how long each of the fuzzers runs at each level.
SECONDS ?= 60
sanitize: $(VENV)/.test
	@tools/sanitize/build memory $(VENV)
	@tools/sanitize/build threads $(VENV)
	@tools/sanitize/run memory $(SECONDS)
	@tools/sanitize/run threads $(SECONDS)

# Forests of others; those that have no wheel for this Python are left out of the tables.
RIVALS := scikit-learn-intelex snapml ydf
$(VENV)/.rivals: | $(VENV)/.test
	@for rival in $(RIVALS); do $(BIN)/python -m pip -q --disable-pip-version-check install $$rival || echo "bench: without $$rival"; done
	@touch $@

bench: $(VENV)/.test $(VENV)/.rivals
	@$(BIN)/python -m benchmarks

# An environment of its own: what checks a release is no dependency of the package.
dist:
	@rm -rf dist
	@test -x build/dist-tools/bin/python || $(PYTHON) -m venv build/dist-tools
	@build/dist-tools/bin/python -m pip -q --disable-pip-version-check install build twine check-wheel-contents pyroma
	@build/dist-tools/bin/python -m build --outdir dist .
	@if tar tzf dist/*.tar.gz | grep -E '^[^/]*/(build|\.venv[^/]*|dist)/|\.(o|a|so|pyc|whl)$$'; then echo "dist: the source distribution must hold sources only; got these" >&2; exit 1; fi
	@build/dist-tools/bin/twine check --strict dist/*
	@build/dist-tools/bin/check-wheel-contents dist/*.whl
	@build/dist-tools/bin/pyroma --skip-tests AuthorEmail --min 10 dist/*.tar.gz # there is no address to write to yet

clean:
	rm -rf $(VENV) $(OLDEST) build dist docs/api docs/gallery .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
