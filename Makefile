# Everything runs in .venv, which is made from pyproject.toml and constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Halves that stay whole share their fixtures; who is done first takes of the other's.
PYTEST_ARGS ?= -n auto --dist worksteal
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The tests start many processes: without bytecode each would compile the project again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format lowest check bench clean

help: ## list the recipes
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/.core: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("ckm needs Python 3.11 or newer, not %d.%d; try: make PYTHON=python3.11" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(BIN)/.dev: $(BIN)/.core
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

setup: $(BIN)/.dev ## make the virtual environment with all that a developer needs

demo: $(BIN)/.core ## generate a register, release six protected tables, compare designs
	$(BIN)/ckm demo --out demo --force

test: setup ## run the tests, but for those that start servers, browsers or long runs
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m "not slow"

lint: setup ## format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## rewrite the code in the project's style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The lowest versions that pyproject.toml admits of what it names, in an environment of their own.
LOWEST := .venv-lowest
TOOLS := $(shell grep -E '^(hypothesis|httpx|lxml|openpyxl|polars|pytest|pytest-randomly|pytest-xdist)==' constraints.txt)

$(LOWEST)/.made: pyproject.toml constraints.txt $(BIN)/.dev
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(LOWEST)
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --editable '.[dp,web]' $(TOOLS)
	@touch $@

lowest: $(LOWEST)/.made ## run the tests of the commands, dp, ptable and tables on the lowest versions
	$(LOWEST)/bin/python -m pytest $(PYTEST_ARGS) -m "not slow" tests/unit/dp tests/unit/ptable tests/unit/tables $(wildcard tests/unit/ckm/test_cli*.py)

check: lint setup ## all that CI runs: lint, and every test
	$(BIN)/python -m pytest $(PYTEST_ARGS)

bench: setup ## time and memory against the peers (minutes)
	$(BIN)/python -m bench

clean: ## remove the virtual environment and what the recipes made
	rm -rf $(VENV) $(LOWEST) demo out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
