# `make serve` and `make test` need only Python 3.11 or newer and make; they install the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

PEERS ?= $(firstword $(wildcard ../peers ../*/peers))

.PHONY: serve test lint bench bench-peers lock screenshots clean

serve: $(VENV)/.runtime
	@$(BIN)/authsite serve --init --config development.ini

test: $(VENV)/.tests
	$(BIN)/pytest $(PYTEST_ARGS)

lint: $(VENV)/.tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.tests
	$(BIN)/python -m bench

# Beside other services, in one run: about 40 minutes, on a machine that does nothing else.
bench-peers: $(VENV)/.tests
	$(BIN)/python -m bench.peers $(PEERS)

# Every page in every state, light and dark, narrow and wide, to look at.
screenshots: $(VENV)/.tests
	$(BIN)/python -m tests.browser.gallery var/screenshots

# The exact versions in requirements*.txt, anew from the ranges in setup.py.
lock: $(VENV)/.tests
	$(BIN)/pip install -q uv
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  setup.py -o requirements.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  -c requirements.txt requirements-dev.in -o requirements-dev.txt

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "authsite needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Making $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.runtime: $(VENV)/.python requirements.txt setup.py
	@echo "Installing authsite ..."
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.txt
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.tests: $(VENV)/.runtime requirements-dev.txt
	@echo "Installing what the tests need ..."
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
