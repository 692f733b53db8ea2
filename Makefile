# `make demo` shows Phronesis at work; `make test` is all that a change must pass, here and on CI.
# Everything happens in .venv, made with nothing but Python's own venv and pip; PIP_* variables and pip's own
# configuration are respected. Nothing is installed again until pyproject.toml changes.

PYTHON ?= python3
WORKERS ?= auto

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
SHOWN := embed,tokens
# What `make check` runs: a minute on two cores. `make test` runs every folder of tests.
QUICK := tests/laws tests/unit tests/architecture --ignore=tests/unit/benchmarks
EXTRAS := chem,chroma,documents,embed,mcp,models,postgres,server,tokens
# A stamp says what was installed, and when.
RUNTIME := $(VENV)/.installed-runtime
DEV := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test suite check lint types imports deps mutants bench agents labelled

# Hundreds of processes are started: each would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
# The test processes share the cores: an encoder that takes all of them in each would wait for the others.
export OPENBLAS_NUM_THREADS := 1

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUNTIME)  ## tell a story in several sessions, and show what is remembered and why
	@$(BIN)/phronesis demo

test: $(DEV) lint imports deps  ## everything: linters, types, architecture, all tests, coverage
	$(MAKE) --no-print-directory --jobs=2 types suite

suite: $(DEV)  ## all tests, and the floors of coverage
	$(BIN)/coverage erase
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --hypothesis-profile=same --cov --cov-report=
	$(BIN)/coverage report --include='src/phronesis/core/*' --fail-under=100
	$(BIN)/coverage report --omit='src/phronesis/core/*' --fail-under=90

check: $(DEV)  ## the tests of single modules, for the loop while writing
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --hypothesis-profile=quick -m "not slow and not postgres and not encoder" $(QUICK)

lint: $(DEV)  ## style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)  ## mypy, strict
	$(BIN)/mypy

imports: $(DEV)  ## imports run one way
	$(BIN)/lint-imports --no-logo

deps: $(DEV)  ## what is imported is declared, and the other way round
	$(BIN)/deptry src

mutants: $(DEV)  ## make mutants [LAWS="forgetting every=5"]: how many mutants of the laws the fast tests kill
	$(BIN)/python tests/mutants.py $(LAWS)

agents: $(DEV)  ## Claude Code, Codex, opencode and OpenClaw, installed from npm, with a scripted model (not part of make test)
	PHRONESIS_REAL_AGENTS=1 $(BIN)/python -m pytest tests/real_agents

labelled:  ## unpack the labelled texts of benchmarks/data to .build/labelled
	@mkdir -p .build && tar -xf benchmarks/data/labelled.tar.xz -C .build

bench: $(DEV)  ## make bench DATA=locomo.json [PEERS=bm25,chromadb]: recall and speed on real conversations
	@test -n "$(DATA)" || { echo "make bench needs DATA=path/to/a/locomo.json" >&2; exit 2; }
	$(BIN)/phronesis bench locomo --data "$(DATA)" $(if $(PEERS),--peers "$(PEERS)")

# pip 25.1 is the first that reads [dependency-groups].
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Phronesis needs Python 3.11 or newer: make PYTHON=…")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade 'pip>=25.1'

$(RUNTIME): pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[$(SHOWN)]'
	@touch $@

$(DEV): pyproject.toml benchmarks/pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[$(EXTRAS)]' --editable './benchmarks[train]' --group dev
	@touch $@ $(RUNTIME)
