# `make serve` and `make test` need only Python 3.11 or newer and make. They install the rest.

PYTHON ?= python3
PORT ?= 6543
# Runs the tests in more processes than there are cores, since many of them wait for a server or a
# browser (tests/conftest.py says how many). With PYTEST_ARGS= they run one after another.
PYTEST_ARGS ?= -n logical --dist loadfile --no-loadscope-reorder
VENV := .venv
BIN := $(VENV)/bin

PEERS ?= $(firstword $(wildcard ../peers ../*/peers))

# Without its cache, each process of the tests would compile and rewrite every module again.
unexport PYTHONDONTWRITEBYTECODE

# The tests of `make t`: a folder, file or test (T), a part of their names (K), a marker (M).
T ?= tests
M ?= not slow
CLIENTS ?= tests/clients

# The translations are compiled here, and by setup.py for a wheel: only their sources are tracked.
CATALOGUES := $(patsubst %.po,%.mo,$(wildcard authsite/locale/*/LC_MESSAGES/*.po))
RUNTIME := $(VENV)/.runtime $(CATALOGUES)
TESTS := $(VENV)/.tests $(CATALOGUES)

.PHONY: serve test test-all test-clients t dev check coverage lint bench bench-peers faults lock screenshots pictures reference \
  cli-reference figures control-tests audit docs docs-serve dist swagger-ui clean

serve: $(RUNTIME)
	@$(BIN)/authsite serve --init --config development.ini --port $(PORT)

test: $(TESTS)
	$(BIN)/pytest $(PYTEST_ARGS)

# Each night: every test on both databases, with large volumes and a random seed, which is printed.
test-all: $(TESTS)
	AUTHSITE_TEST_ALL=1 $(BIN)/pytest $(PYTEST_ARGS)

# Real relying parties (Django, JupyterHub, Apache and others), each in its own environment below
# var/clients: some minutes the first time.
test-clients: $(TESTS)
	$(BIN)/pytest -n 2 --dist loadfile $(CLIENTS)

# For contributors (CONTRIBUTING.md): installs everything that the tests need.
dev: $(TESTS)
	@echo "Ready. One test: make t T=tests/oauth K=grace. All tests: make test."

# Plugins that a single test does not need. They take two seconds to load.
NO_PLUGINS := $(addprefix -p no:,schemathesis xdist hypothesispytest anyio cov)

# During development: SQLite only, no servers, no browser.
t: $(TESTS)
	@$(BIN)/pytest -q $(NO_PLUGINS) --database sqlite -m "$(M)" $(T) $(if $(K),-k "$(K)")

# Before a pull request.
check: lint test

# On SQLite alone, and not in CI: tracing doubles the time of a test.
coverage: $(TESTS)
	$(BIN)/pytest -q $(PYTEST_ARGS) --database sqlite --cov --cov-report=
	$(BIN)/coverage report --fail-under=95

lint: $(TESTS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(TESTS)
	$(BIN)/python -m bench

# Compares authsite with other services in one run, for docs/performance.md: about an hour, on an
# idle machine.
bench-peers: $(TESTS)
	$(BIN)/python -m bench.peers $(PEERS) --write

# Breaks what the service depends on, while it is in use: docs/reliability.md. R4,R5 with ONLY=;
# seconds instead of minutes with SHORT=yes, which leaves the page as it is.
faults: $(TESTS)
	$(BIN)/python -m bench.faults $(if $(ONLY),--only $(ONLY)) $(if $(SHORT),--short)

# Screenshots of every page in every state, light and dark, narrow and wide.
# L is a language; `ar` is a pseudo-locale from right to left.
L ?= en
screenshots: $(TESTS)
	$(BIN)/python -m tests.system.browser.gallery var/screenshots $(L)

# The screenshots of README.md and docs/branding.md.
pictures: $(TESTS)
	$(BIN)/python -m tests.system.browser.branding

# The documentation site, into var/site; a warning is an error. Its tools have a separate
# environment, so that the tests need not install them.
docs: var/docs-tools/.installed
	@NO_MKDOCS_2_WARNING=1 var/docs-tools/bin/mkdocs build --strict
	@echo "Built into var/site. To read it, with its search: make docs-serve"

# The search of the site needs a server: browsers do not let a page of the disk load its index.
DOCS_PORT ?= 8008
docs-serve: docs
	@echo "http://localhost:$(DOCS_PORT)/"
	@$(PYTHON) -m http.server --directory var/site --bind 127.0.0.1 $(DOCS_PORT)

# Into dist/: wheel and source distribution of authsite and of authsite-client, the web client, and
# the software bill of materials (CycloneDX).
WEB_CLIENT := $(addprefix authsite/static/client/,authsite.js authsite.d.ts calls.js code.js proxy.js session.js steps.js tabs.js)

dist: var/dist-tools/.installed
	@rm -rf dist var/authsite-client
	@cp -R clients/python var/authsite-client && rm -rf var/authsite-client/build
	@for source in . var/authsite-client; do \
	  var/dist-tools/bin/python -m build --no-isolation --outdir dist $$source > var/dist.log || \
	    { cat var/dist.log; exit 1; }; \
	done
	@mkdir dist/web-client && cp $(WEB_CLIENT) LICENSE dist/web-client
	@version=$$(ls dist/authsite-*.whl | cut -d- -f2) && \
	  printf '[project]\nname = "authsite"\nversion = "%s"\n' "$$version" > var/dist.toml && \
	  var/dist-tools/bin/cyclonedx-py requirements requirements.txt --pyproject var/dist.toml \
	    --output-reproducible --of JSON -o "dist/authsite-$$version.cdx.json" 2>> var/dist.log
	@ls dist dist/web-client

var/%-tools/.installed: requirements-%.txt $(VENV)/.python
	@mkdir -p var
	@$(PYTHON) -m venv var/$*-tools
	@var/$*-tools/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements-$*.txt
	@touch $@

# Writes the exact versions in requirements*.txt from the ranges in setup.py.
lock: $(TESTS)
	$(BIN)/pip install -q uv
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  setup.py -o requirements.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  --no-strip-extras -c requirements.txt requirements-dev.in -o requirements-dev.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  requirements-docs.in -o requirements-docs.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  requirements-dist.in -o requirements-dist.txt

# Writes the references of commands, endpoints, errors, audit events and settings, both ini files, and the tables of
# what authsite leaves out.
reference: $(TESTS)
	$(BIN)/python -m tests.support.cli_reference
	$(BIN)/python -m tests.support.api_reference
	$(BIN)/python -m tests.support.error_reference
	$(BIN)/python -m tests.support.audit_reference
	$(BIN)/python -m tests.support.settings_reference
	$(BIN)/python -m tests.support.absences

cli-reference: reference

# Prints the figures of the code's structure: files, imports, the files that a request opens. Some seconds, on an idle
# machine.
figures: $(TESTS)
	@$(BIN)/python -m tests.support.figures 2> /dev/null

# Writes which tests hold each control.
control-tests: $(TESTS)
	$(BIN)/python -m tests.support.controls

# Compares the exact versions with the known vulnerabilities on PyPI. A separate environment.
PIP_AUDIT := 2.10.1
audit: $(VENV)/audit-$(PIP_AUDIT)
	$</bin/pip-audit --require-hashes --disable-pip --progress-spinner off -r requirements.txt

$(VENV)/audit-$(PIP_AUDIT): $(VENV)/.python
	@$(PYTHON) -m venv $@
	@$@/bin/pip install -q --disable-pip-version-check pip-audit==$(PIP_AUDIT)

# The viewer of /docs, from the npm registry. A new release: its version and `dist.integrity`.
SWAGGER_UI_VERSION := 5.35.0
SWAGGER_UI_SHA512 := U06rpMtW9V3XPGOBeamTUSr0Z09jMX4IJuANpE/EZbAhw0G8CgwrzU4YmXkn/h0wCDNsXdGarTNNHC3sU8yVUQ==
SWAGGER_UI_FILES := LICENSE NOTICE swagger-ui-bundle.js swagger-ui-bundle.js.LICENSE.txt swagger-ui.css
SWAGGER_UI := authsite/static/swagger-ui

swagger-ui:
	@mkdir -p var $(SWAGGER_UI)
	curl -fsS -o var/swagger-ui.tgz \
	  https://registry.npmjs.org/swagger-ui-dist/-/swagger-ui-dist-$(SWAGGER_UI_VERSION).tgz
	test "$$(openssl dgst -sha512 -binary var/swagger-ui.tgz | base64 -w0)" = "$(SWAGGER_UI_SHA512)"
	tar -xzf var/swagger-ui.tgz -C $(SWAGGER_UI) --strip-components=1 $(addprefix package/,$(SWAGGER_UI_FILES))
	cd $(SWAGGER_UI) && sha256sum $(SWAGGER_UI_FILES) > SHA256SUMS

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

%.mo: %.po | $(VENV)/.runtime
	@$(BIN)/pybabel -q compile -i $< -o $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
