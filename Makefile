# Two commands: `make demo` reproduces the first figures, `make test` runs every check.
# Both create .venv in this folder the first time and reuse it afterwards.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test docs attack bench lint types layers clean help

help:
	@echo "make demo   quick L-shape and success-rate studies, claims table, HTML report"
	@echo "make test   lint, types, import rules, all tests, doctests, examples"
	@echo "make docs   the documentation site, in build/docs; the tests build it too"
	@echo "make attack fuzz and fault suite with fresh seeds, some minutes"
	@echo "make bench  speed of every engine here, and the time of the whole two-layer sweep from a tenth of it"

demo: $(READY)
	$(BIN)/tutelage reproduce l-shape success-rate --scale quick --out reproduced || [ $$? -eq 1 ]

test: lint types layers
	$(BIN)/python -m pytest -n 2

docs: $(READY)
	$(BIN)/python -m sphinx -W --keep-going -q -j 2 -d build/doctrees docs build/docs
	@echo "open build/docs/index.html"

attack: $(READY)
	TUTELAGE_ATTACK=$${TUTELAGE_ATTACK:-40} $(BIN)/python -m pytest tests/attack -n 2

bench: $(READY)
	mkdir -p results
	$(BIN)/python benchmarks/bench_engines.py --json results/engines.json
	$(BIN)/python benchmarks/sweep.py --share 0.1 --json results/sweep.json

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports --no-cache

# torch goes first and pinned, so that no other package pulls in a different build of it
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt "$$(grep '^torch==' constraints.txt)"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) reproduced results build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache
