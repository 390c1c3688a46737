# Two commands: `make demo` reproduces the first figures, `make test` runs every check.
# Both create .venv in this folder the first time and reuse it afterwards.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
INSTALL ?= # further options of pip

.PHONY: demo test suite docs notebooks wheel attack record mutants bench lint types layers hooks clean help

help: ## list the targets of this file
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /make \1\t/' | expand -t 14

demo: $(READY) ## quick L-shape and success-rate studies, their claims and an HTML report
	$(BIN)/tutelage reproduce l-shape success-rate --scale quick --out reproduced || [ $$? -eq 1 ]

test: lint types layers suite ## lint, types, import rules, all tests, doctests, examples and pages

suite: $(READY) ## all tests, doctests, examples and pages
	$(BIN)/python -m pytest -n 2

docs: $(READY) ## the documentation site, in build/docs; the tests build it too
	$(BIN)/python -m sphinx -W --keep-going -q -j 2 -d build/doctrees docs build/docs
	@echo "open build/docs/index.html"

notebooks: $(READY) ## run the chosen examples and the lessons, and write their notebooks
	$(BIN)/python docs/_ext/tutelage_docs/notebooks.py

wheel: $(READY) ## a wheel in dist, for machines without a clone
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@ls -l dist/*.whl

attack: $(READY) ## fuzz and fault suite with fresh seeds, an hour or more
	TUTELAGE_ATTACK=$${TUTELAGE_ATTACK:-40} $(BIN)/python -m pytest tests/attack -n 2

record: $(READY) ## measure the claims of all studies at smoke scale anew, and print what differs from the record
	$(BIN)/python tests/studies/record.py

mutants: $(READY) ## small mistakes in files that decide: do their tests notice? some minutes
	$(BIN)/python tests/mutants.py

bench: $(READY) ## speed of every engine on this machine, and the time of the two-layer sweep from a tenth of it
	mkdir -p results
	$(BIN)/python benchmarks/bench_engines.py --json results/engines.json
	$(BIN)/python benchmarks/sweep.py --share 0.1 --json results/sweep.json

lint: $(READY) ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## mypy
	$(BIN)/mypy

layers: $(READY) ## import-linter: which package may import which
	$(BIN)/lint-imports --no-cache

# Everything comes as wheels with known hashes, but for torch, whose builds share one version, and what torch alone
# needs (CUDA libraries). No other package may pull in a build of it, so what has hashes is installed without dependencies.
$(READY): pyproject.toml constraints.txt hashes.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(INSTALL) --require-hashes --no-deps --only-binary :all: --requirement hashes.txt
	$(BIN)/python -m pip install --quiet $(INSTALL) --constraint constraints.txt "$$(grep '^torch==' constraints.txt)"
	$(BIN)/python -m pip install --quiet $(INSTALL) --no-deps --no-build-isolation --editable .
	$(BIN)/python -m pip check
	touch $(READY)

hooks: $(READY) ## run lint, types and layers before every commit (needs pre-commit)
	pre-commit install

clean: ## remove the environment, results and caches
	rm -rf $(VENV) reproduced results build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache
