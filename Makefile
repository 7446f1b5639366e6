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
.PHONY: help setup demo test lint format check bench clean

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

test: setup ## run the tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: setup ## format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## rewrite the code in the project's style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: lint test ## all that CI runs

bench: setup ## time and memory against the peers (minutes)
	$(BIN)/python -m bench

clean: ## remove the virtual environment and what the recipes made
	rm -rf $(VENV) demo out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
