# `make` alone lists what there is. Set-up happens by itself, once, and again when a dependency changes.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Ivy's and pip's progress belong to the set-up; everything after it is quiet.
export PYTHONUNBUFFERED := 1

.PHONY: help setup demo test test-fast audit-test fault-test engines-test stores-test cluster-test browser-test matrix coverage docs settings lint format lock bench-noise bench-collect bench-training bench-memory bench-query bench-slices bench-explore bench-advise explorer results wheel clean clean-demo

help: ## list the commands
	@awk -F':.*## ' '/^[a-z%-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv with the exact pins of requirements.lock (about 2 minutes, once)

# Names and versions are pinned in requirements.lock, PyTorch's CUDA libraries among them (Linux).
$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || \
	  { echo "VDR needs Python 3.11, and '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Name one: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the pinned packages into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv==0.13.7"
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --requirement requirements.lock
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --no-deps --editable .
	@touch $(READY)

demo: $(READY) ## a generated city, end to end: pings -> private release -> queries -> pictures, in out/demo
	@$(BIN)/vdr demo conf/demo.yaml

# Two processes: half of a Spark test is waiting. Files stay whole, the longest first (tests/conftest.py).
PYTEST  := $(BIN)/python -m pytest -n 2 --no-loadscope-reorder
# Hundreds of jobs in one test take longer than a test may take otherwise.
AT_LONG := -o timeout=3600 -o faulthandler_timeout=4000

test: lint ## lint, types and all tests but audits, kills, servers, stores, clusters and browsers (11 to 15 minutes)
	@$(PYTEST) --dist loadfile

test-fast: $(READY) ## the tests that need no Spark and train no network (2 minutes)
	@$(PYTEST) --dist loadfile -m "not spark and not training and not audits and not faults and not engines and not stores and not clusters and not browser"

audit-test: $(READY) ## the statistical audit at length: hundreds of whole collect jobs (long; never timed)
	@$(BIN)/python -m pytest $(AT_LONG) -m audits tests/statistical

fault-test: $(READY) ## kill -9 at 93 points of a release, and the same command again after each; speculation on a cluster (over an hour)
	@$(PYTEST) $(AT_LONG) --dist load -m faults tests/faults tests/side_channels

# 900 MB are downloaded into build/engines, once. Trino needs Java 24 or newer beside Spark's 17.
engines-test: $(READY) ## Spark's Thrift server, Trino, DuckDB, Polars, delta-rs read a release: the same sums (6 minutes; downloads 900 MB once)
	@$(BIN)/python -m pytest $(AT_LONG) -m engines tests/engines

# One process: the machine is to be busy with the two that race.
stores-test: $(READY) ## two writers at once over S3 servers on loopback: races, kills; fetches 600 MB once (40 minutes)
	@$(BIN)/python -m pytest $(AT_LONG) -m stores tests/stores

# 300 MB are downloaded into build/clusters, once, and an environment of 720 MB is packed there. None of these tests is
# one of hypothesis, whose plugin would be imported when all is done, and was seen to crash the compiler of Python 3.11.7.
cluster-test: $(READY) ## jobs by spark-submit, as documented, on a standalone cluster and on YARN; a worker killed in mid-collect (15 to 30 minutes)
	@$(BIN)/python -m pytest $(AT_LONG) -p no:hypothesispytest -m clusters tests/cluster

# Playwright is installed beside the lock: only this and `bench-explore` need it.
BROWSER_TOOLS := VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --requirement tests/browser/requirements.txt

browser-test: $(READY) ## the explorer and the report in Chromium: boxes, play, links, keys, axe-core; needs chromium and npm (5 minutes)
	@test -n "$$CHROMIUM" || command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  { echo "Chromium is missing. Install it (Debian: apt-get install chromium), or name it: make browser-test CHROMIUM=/path" >&2; exit 1; }
	@command -v npm >/dev/null || { echo "npm is missing: axe-core, which checks accessibility, comes by it. Install Node.js 20 or newer" >&2; exit 1; }
	@$(BROWSER_TOOLS)
	@cd explorer && npm ci --ignore-scripts --silent
	@$(BIN)/python -m pytest -m browser tests/browser

explorer: ## the explorer's page, anew from explorer/src into vdr_spark/explore/static; needs npm
	@command -v npm >/dev/null || { echo "npm is missing. Install Node.js 20 or newer" >&2; exit 1; }
	@cd explorer && npm ci --ignore-scripts --silent && npm run --silent check && npm run --silent build

matrix: $(READY) ## Petastorm's reading under pyarrow 14 to the newest; a release, tests and a kill under Spark 3.5, 4.0 and 4.2 (40 minutes)
	@$(BIN)/python -m tests.matrix.environments
	@$(BIN)/python -m tests.matrix.under_spark

# Of this process only: Spark's Python workers and the processes that tests start are not counted.
coverage: $(READY) ## how much of vdr_spark the fast tests run, line by line in htmlcov/
	@$(PYTEST) --dist loadfile -m "not spark and not training and not audits and not faults and not engines and not stores and not clusters and not browser" \
	  --cov=vdr_spark --cov-report=term:skip-covered --cov-report=html --durations=0 --durations-min=60

docs: $(READY) ## the documentation, with an API reference made from docstrings, into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html; with the search: $(BIN)/python -m http.server -d site"

settings: $(READY) ## the reference of settings in docs/settings.md, anew from vdr_spark/config
	@$(BIN)/python -m vdr_spark.config.reference docs/settings.md

lint: $(READY) ## ruff (lint and format), mypy, and the contracts on imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(READY) ## rewrite the sources in the house style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

lock: ## compute requirements.lock anew from pyproject.toml
	@test -x $(BIN)/uv || { $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet uv==0.13.7; }
	@$(BIN)/uv pip compile --quiet --universal --upgrade --python-version 3.11 --no-annotate --no-header \
	  --all-extras pyproject.toml --output-file requirements.lock

bench-noise: $(READY) ## samples a second: our exact noise, OpenDP's, NumPy's floating-point one
	@$(BIN)/python benchmarks/noise.py

bench-collect: $(READY) ## bound-and-bin of 50 million pings: ours, a bare scan, the textbook plan, DuckDB, Polars (15 minutes)
	@$(BIN)/python benchmarks/collect.py --rows 5e7 --k 53

bench-training: $(READY) ## slices a second of the paper's model, and the share of time spent waiting for data (5 minutes on a CPU)
	@$(BIN)/python benchmarks/training.py

bench-memory: $(READY) ## memory of denoising 576 x 576 x 96 cells, in tensors (10 minutes on a CPU)
	@$(BIN)/python benchmarks/memory.py

bench-query: $(READY) ## publishing and asking a release of 576 x 576 x 96 cells: ours, DuckDB, Polars, Spark SQL (a minute)
	@$(BIN)/python benchmarks/query.py

bench-slices: $(READY) ## what noise and storing it cost per cell, as bytes and as lists of numbers (2 minutes)
	@$(BIN)/python benchmarks/slices.py

bench-explore: $(READY) ## the explorer in Chromium at 576 x 576 x 96 cells: first picture, frames a second, a dragged box (5 minutes)
	@$(BROWSER_TOOLS)
	@$(BIN)/python benchmarks/explore.py

bench-advise: $(READY) ## is the advised k a good one? a generated city of a million pings, k swept (5 minutes)
	@$(BIN)/python benchmarks/advise.py --sets city_1m

results: $(READY) ## the tables of docs/results.md, anew from benchmarks/records
	@$(BIN)/python -m vdr_spark.experiments.results benchmarks/records docs/results.md

wheel: $(READY) ## build the wheel into dist/
	@$(BIN)/uv build --quiet --wheel --out-dir dist .

clean-demo: ## throw away the demo's output, budget book included
	@rm -rf out/demo

clean: clean-demo ## throw away the demo's output and .venv
	@rm -rf $(VENV) build dist site htmlcov *.egg-info
