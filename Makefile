# Two commands do everything on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
ONLY ?=
JOBS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); echo $$((n < 8 ? n : 8)))
export PYTHON VENV

.PHONY: pictures run test groups test-all bench lint lock setup venv mutate clean

venv:
	@scripts/bootstrap

setup: venv  ## build the guest runtimes (cached outside the checkout)
	@$(BIN)/thetis setup

run: setup  ## the screen; without a terminal, the same tour headless
	@if [ -t 0 ] && [ -t 1 ]; then exec $(BIN)/thetis; else exec scripts/tour "$(CURDIR)/$(BIN)/thetis"; fi

test: setup  ## the suite, a file a process at a time (JOBS=1: one after the other)
	@$(BIN)/python -m pytest -m "not slow" -n $(JOBS) --dist loadfile

test-all: setup  ## the long ones too
	@.ci/sshd
	@THETIS_REQUIRE_SSHD=1 $(BIN)/python -m pytest

groups: setup  ## limits of control groups under a kernel of its own (root, linux.uml)
	@PYTHON=$(BIN)/python scripts/groups

bench: setup  ## one JSON line a figure; ONLY=prefix chooses
	@$(BIN)/python -m bench $(ONLY)

lint: venv  ## style, types, import contracts
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

pictures: setup  ## draw the main screens into docs/pictures and write docs/screen.md
	@$(BIN)/python -m tests.support.gallery
	@$(BIN)/python -m tests.support.reference

mutate: setup  ## each mutation must turn a test red
	@$(BIN)/python -m tests.mutations

lock: venv  ## renew requirements.lock from pyproject.toml
	@$(BIN)/uv pip compile pyproject.toml --extra dev --universal --generate-hashes --no-header --no-annotate \
	  --python-version 3.11 --quiet --upgrade -o requirements.lock

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
