# Needs git, make and Python 3.11 or later; everything else goes into .venv, once.

BIN := .venv/bin
PYTEST_ARGS ?= -n auto
SIM_RUNS ?= 2000
SEEDS ?= 20000
TORTURE_SECONDS ?= 60
FROZEN ?= 0.1.0

.PHONY: help demo test explore simulate mutants torture frozen generate bench peers docs clean tools dev lint types layers specs pages

help:
	@echo "make demo      watch a refund survive being killed twice"
	@echo "make test      everything CI runs: lint, types, layers, specs, tests (PYTEST_ARGS='-k name')"
	@echo "make explore   every scenario under every single fault, in memory and on a file; the richest under every pair"
	@echo "make simulate  random programs (SEEDS=20000); stories, walks and pairs of faults at length (SIM_RUNS=2000)"
	@echo "make mutants   plant a fault after the other in a copy, and show which test notices (MUTANTS_ARGS='--only NAME')"
	@echo "make torture   three processes on one file, killed at random for a minute (TORTURE_SECONDS=60)"
	@echo "make frozen    make the frozen store of this version anew, where it is not released (FROZEN=0.1.0)"
	@echo "make generate  write generated/ and diagrams/ anew from fsm_specs/"
	@echo "make docs      the reference, from docstrings, into build/docs/html; a warning fails it"
	@echo "make bench     measure speed and size against their limits (NAMES='advance')"
	@echo "make peers     measure other libraries beside Pawl on the same work (PEERS_ARGS='--quick alone')"
	@echo "make clean     remove .venv, caches and built files"

demo: tools
	@$(BIN)/pawl demo

test: lint types layers specs pages
	@$(BIN)/pytest -q $(PYTEST_ARGS)

simulate: dev
	@$(BIN)/pawl simulate --seeds $(SEEDS)
	@SIM_RUNS=$(SIM_RUNS) $(BIN)/pytest -q $(PYTEST_ARGS) --timeout 0 tests/execution

mutants: dev
	@PYTHONPATH=tests $(BIN)/python -m mutants $(MUTANTS_ARGS)

torture: dev
	@TORTURE_SECONDS=$(TORTURE_SECONDS) $(BIN)/pytest -q --timeout 0 tests/app/test_torture.py

frozen: dev
	@PYTHONPATH=.src:tests $(BIN)/python tests/frozen/make.py $(FROZEN)

explore: tools
	@$(BIN)/pawl scenario explore tests/scenarios
	@$(BIN)/pawl scenario explore tests/scenarios --store sqlite
	@$(BIN)/pawl scenario explore tests/scenarios/richest --pairs

lint: dev
	@$(BIN)/ruff check -q .
	@$(BIN)/ruff format -q --check . || { $(BIN)/ruff format --diff -q . ; exit 1; }

types: dev
	@$(BIN)/mypy --no-error-summary

layers: dev
	@output=$$($(BIN)/lint-imports 2>&1) || { printf '%s\n' "$$output"; exit 1; }

specs: dev
	@$(BIN)/pawl check
	@$(BIN)/pawl generate --check
	@$(BIN)/pawl diagram --check

docs: dev
	@$(BIN)/python .docs/build.py build/docs

pages: dev
	@$(BIN)/python .docs/build.py build/docs >/dev/null

generate: tools
	@$(BIN)/pawl generate
	@$(BIN)/pawl diagram

bench: tools
	@$(BIN)/pawl bench $(NAMES)

peers: tools
	@$(BIN)/python -m pawl.tools.bench.peers $(PEERS_ARGS)

tools dev:
	@sh .ci/venv $@

clean:
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist demo-out
	@find runtime generated tools tests fsm_specs .src -name __pycache__ -type d -prune -exec rm -rf {} +
