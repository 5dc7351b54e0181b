# Every target sets up its own virtual environment on a machine with Python 3.11, gcc and make.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
CORE = $(VENV)/.core
LOCAL = $(VENV)/.local
PEERS = $(VENV)/.peers

.DEFAULT_GOAL := help
CONSOLE_DOCS = docs/commands.md docs/time-travel.md docs/questioning.md docs/compose.md docs/sql.md docs/files.md docs/erasure.md docs/web.md docs/agents.md docs/folders.md docs/scale.md

.PHONY: help demo test fuzz torture portability lint types bench bench-quick eval docs clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 12

$(CORE): pyproject.toml constraints.txt Makefile
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev]' --config-settings editable_mode=strict
	touch $@

$(LOCAL): $(CORE)
	$(BIN)/python -m pip install -q -c constraints.txt torch
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev,local]' --config-settings editable_mode=strict
	touch $@

# The systems that `make bench` measures beside ours.
$(PEERS): $(LOCAL)
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev,local,peers]' --config-settings editable_mode=strict
	touch $@

# A strict editable install maps files, not folders: it is renewed before anything runs.
.PHONY: install
install: $(LOCAL)
	@$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e . --config-settings editable_mode=strict

demo: install ## memories, recalls, 200 more writes, and the first recall replayed exactly (real MiniLM)
	@$(BIN)/python -m recollect.interfaces.cli.demo

test: install ## types, lint, layers and all tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy -p recollect
	$(BIN)/python -m pytest -q -n 3 -rfEs

fuzz: install ## the tests of laws, with examples that no run has seen
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -q -n 3 -m hypothesis

torture: install ## 10,000 simulated runs of several processes, a fault at every file operation of every command, and a cluster killed while 100,000 events are appended
	$(BIN)/python -m tests.torture $(if $(SEEDS),--seeds $(SEEDS))

portability: install ## golden stores on other Pythons, on arm64 (qemu) and on LLVM's C++ library; writes docs/exactness.md
	$(BIN)/python -m tests.portability --write

lint: install ## ruff, and the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: install ## mypy --strict
	$(BIN)/mypy -p recollect

bench: $(PEERS) install ## every promised speed, beside the peers, up to 1,000,000 memories; writes docs/performance.md
	$(BIN)/python bench/run.py $(if $(STORES),--stores $(STORES))

bench-quick: $(PEERS) install ## the same at 10,000 memories in under two minutes; prints its table
	$(BIN)/python bench/run.py --quick

eval: install ## how well every built-in formula ranks LoCoMo and SciFact (reads ../shared/data, writes docs/quality.md)
	$(BIN)/python bench/eval.py
	$(BIN)/python bench/models.py

docs: install ## run the commands in the documentation again and write their output
	$(BIN)/python docs/generate_console.py $(CONSOLE_DOCS)
	$(BIN)/python docs/compare_example.py
	$(BIN)/python docs/terminal_pictures.py
	$(BIN)/python docs/demo_transcript.py

clean: ## remove the virtual environment and all caches
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
