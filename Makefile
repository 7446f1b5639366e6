# Everything runs in .venv, which is made from pyproject.toml and constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Halves that stay whole share their fixtures; who is done first takes of the other's.
PYTEST_ARGS ?= -n auto --dist worksteal
# What is slow waits for processes and browsers: a third worker on two cores uses that time.
SLOW_ARGS ?= -n 3 --dist worksteal
# `make check` draws other examples for every content of the project, and the same when it runs again.
SEED ?= $(shell printf '%d' "0x$$(git rev-parse --short=8 'HEAD^{tree}' 2>/dev/null || echo 18)")
MANY = CKM_HYPOTHESIS_PROFILE=many PYTEST_ADDOPTS="--hypothesis-seed=$(SEED)"
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Most of what is installed is never imported: Python compiles what is, when it is.
INSTALL := -m pip install --quiet --no-compile
# Their examples are tests of `make check`.
PACKAGES := ckm dp dpsgd footing ptable rappor reports risk synth tables
# Workers of tests share the cores: threads of linear algebra would wait for each other.
test lowest check long: export OPENBLAS_NUM_THREADS := 1
# The tests start many processes: without bytecode each would compile the project again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format lowest versions pictures docs docs-archive dist check long bench clean

help: ## list the recipes
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/.core: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("ckm needs Python 3.11 or newer, not %d.%d; try: make PYTHON=python3.11" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python $(INSTALL) --constraint constraints.txt --editable .
	@touch $@

$(BIN)/.dev: $(BIN)/.core
	$(BIN)/python $(INSTALL) --constraint constraints.txt --editable '.[dev]'
	@touch $@

setup: $(BIN)/.dev ## make the virtual environment with all that a developer needs

demo: $(BIN)/.core ## generate a register, release six protected tables, compare designs
	$(BIN)/ckm demo --out demo --force

test: setup ## run the tests in five minutes: few examples, no servers, browsers or long runs
	$(BIN)/python -m pytest $(PYTEST_ARGS) --durations=25 -m "not slow and not long"

lint: setup ## format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## rewrite the code in the project's style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The lowest versions that pyproject.toml admits, in an environment of their own, and tests that would
# notice a wrong one: those of dp, p-tables, tables and commands that are quick, and reference
# values. Not installed: Spark, a driver of PostgreSQL, and torch, which is a gigabyte to fetch; what
# needs them is left out.
LOWEST := .venv-lowest
TOOLS := $(shell grep -E '^(babel|hypothesis|httpx|lxml|openpyxl|polars|pytest|pytest-randomly|pytest-xdist)==' constraints.txt)
LONG := %fuzz.py %_advice.py %_identify.py %_pictures.py %_scan.py %_quantise.py %_solve.py %_cube.py %_prepared.py tests/unit/tables/spark/% \
    %_suppress.py %_pld.py %_adjacency.py %_auditor.py %_sketch.py %_shuffle.py %_compare.py %/ptable/test_check.py %_evaluate.py %_inputs.py %_sweep.py
LOWEST_TESTS := $(filter-out $(LONG),$(foreach folder,dp ptable tables,$(wildcard tests/unit/$(folder)/test_*.py tests/unit/$(folder)/*/test_*.py))) \
    $(filter-out $(LONG) tests/unit/ckm/cli/dpsgd/%,$(wildcard tests/unit/ckm/cli/test_*.py tests/unit/ckm/cli/*/test_*.py)) \
    tests/unit/ckm/engine/test_engine.py tests/unit/ckm/engine/test_secrecy.py \
    $(patsubst %,tests/golden/test_%.py,cellkey dp_tables inverse magnitude_cells magnitude_engine magnitudes ptable_ids rappor_decode rappor_files worked_example)

$(LOWEST)/.made: pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear $(LOWEST)
	sed '/^dpsgd =/,$$d' pyproject.toml | grep -oE '"[a-z0-9-]+>=[0-9.]+' | tr -d '"' | sed 's/>=/==/' > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python $(INSTALL) --constraint $(LOWEST)/constraints.txt --editable '.[dp,synth,web,office]' $(TOOLS)
	@touch $@

lowest: $(LOWEST)/.made ## run a choice of tests on the lowest versions that pyproject.toml admits
	$(LOWEST)/bin/python -m pytest $(PYTEST_ARGS) -m "not slow and not long" $(LOWEST_TESTS)

# With uv, which fetches each version of a library once for all environments of this machine.
versions: setup ## run a choice of tests on the wheel with each newer Python that is on this machine
	$(BIN)/python -m tests.environments.versions

pictures: setup ## draw the pictures of the documentation: the way to a release, and pages of the demonstration where Chromium is installed
	$(BIN)/python docs/pictures/draw.py

docs: pictures ## build the pages, every command and the Python packages into a searchable site: docs/_build
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going docs docs/_build

# The pictures stand in the sources as they were drawn last, so that no demonstration is run.
docs-archive: setup ## build the pages and pack them into one file that ckm docs opens: dist/ckm-engine-docs-VERSION.zip
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going docs docs/_build
	$(BIN)/python docs/archive.py docs/_build dist

# What is in a package is told by the tools that others check it with, in an environment of its own.
dist: setup ## build the wheel and the sources, and list what an installation brings with it and its licences
	rm -rf dist && $(BIN)/python -m build --outdir dist
	$(MAKE) docs-archive
	$(PYTHON) -m venv --clear .venv-dist
	.venv-dist/bin/python $(INSTALL) --constraint constraints.txt dist/*.whl
	.venv-dist/bin/ckm --version
	$(PYTHON) -m venv --clear .venv-tools && .venv-tools/bin/python $(INSTALL) twine cyclonedx-bom pip-licenses
	.venv-tools/bin/twine check --strict dist/*.whl dist/*.tar.gz
	.venv-tools/bin/cyclonedx-py environment --gather-license-texts --output-reproducible \
	    --pyproject pyproject.toml -o dist/ckm-engine.cdx.json .venv-dist/bin/python
	.venv-tools/bin/pip-licenses --python .venv-dist/bin/python --with-license-file --no-license-path \
	    --format plain-vertical --output-file dist/licences.txt

check: ## all that CI runs: lint, lowest versions, newer Pythons, the tests with more and other examples, those of docstrings, then what is slow
	$(MAKE) --jobs=2 lint lowest docs versions
	$(MANY) $(MAKE) test
	$(BIN)/python -m pytest $(PYTEST_ARGS) --doctest-modules $(PACKAGES)
	$(MANY) $(BIN)/python -m pytest $(SLOW_ARGS) --durations=25 -m "slow and not long"

long: setup ## run the tests that take minutes each: large simulations, long attacks, many fits
	$(BIN)/python -m pytest $(PYTEST_ARGS) --durations=25 -m long

bench: setup ## time and memory against the peers (minutes)
	$(BIN)/python -m bench

clean: ## remove the virtual environment and what the recipes made
	rm -rf $(VENV) $(LOWEST) .venv-dist .venv-tools demo out build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
