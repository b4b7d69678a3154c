# Everything runs from a fresh clone with python3 (3.11 or newer), pip and make; nothing is installed outside .venv.
# All paths are relative, so a checkout whose path has spaces works too.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PINS := requirements/constraints.txt
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo test check lint fix docs bench pins clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 14

demo: .venv/.core ## the same agent unguarded and guarded, side by side, offline
	@$(BIN)/tallystick demo

test: .venv/.dev ## the whole test suite
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

lint: .venv/.dev ## formatting, lint, types, layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

check: ## exactly what CI runs: lint, then test
	bash .ci/run

fix: .venv/.dev ## let ruff fix and format what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: .venv/.dev ## write the generated pages again (docs/reference/cli.md)
	$(BIN)/python -m tests.docs.generate

bench: .venv/.bench ## every benchmark beside its baselines
	@for each in envelope append decide audit gateway; do echo "== $$each"; $(BIN)/python benchmarks/$$each.py || exit 1; done

pins: ## resolve every dependency again and write requirements/constraints.txt
	$(PYTHON) requirements/pin.py

clean: ## remove the virtual environment and all caches
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache src/*.egg-info

# Some systems ship python3 and pip without ensurepip; there, pip installs itself into the bare environment.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "tallystick needs python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv .venv 2>/dev/null || \
	  { rm -rf .venv && $(PYTHON) -m venv --without-pip .venv && $(PYTHON) -m pip --python .venv/bin/python install -qq pip; }

# The two stamps: what the package needs, and what its tests and checks need. The build runs with the pinned setuptools.
.venv/.core: .venv/bin/python pyproject.toml $(PINS)
	@echo "installing tallystick into .venv (once)" >&2
	@$(PIP) install -qq -c $(PINS) pip setuptools
	@$(PIP) install -qq -c $(PINS) --no-build-isolation -e .
	@touch $@

.venv/.bench: .venv/.core
	@echo "installing what the benchmarks compare with into .venv (once)" >&2
	@$(PIP) install -qq -c $(PINS) --group dev --group bench
	@touch $@

.venv/.dev: .venv/.core
	@echo "installing the test tools into .venv (once)" >&2
	@$(PIP) install -qq -c $(PINS) --group dev
	@touch $@
