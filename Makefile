# Makes .venv from requirements.txt, then calls the tool.

PYTHON ?= python3
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: reproduce report test test-cluster test-gpu gpu lint

# Snakemake's lock that a killed run left behind is removed; flock keeps a second `make reproduce` out meanwhile. A
# training that outlives its killed Snakemake keeps its folder to itself (transformer/training/run.py).
reproduce: .venv/installed
	@flock --nonblock --conflict-exit-code 9 Makefile sh -c 'snakemake --unlock --quiet all && exec snakemake --cores all' || \
	{ test $$? -ne 9 || echo "another make reproduce is at work here: wait, or end it" >&2; exit 1; }

report: .venv/installed
	snakemake --cores all --report results/quick/report.html

test: .venv/installed
	python -m pytest

# Through a Slurm that it starts, on this machine; as root it installs the packages where they are missing.
test-cluster: .venv/installed
	python -m pytest -m cluster

# What wants a GPU; the other tests do not see it.
test-gpu: .venv/installed
	python -m pytest -m gpu

# How fast this machine's GPU is, in ten minutes: docs/gpu.md.
gpu: .venv/installed
	python -m benchmarks.gpu

lint: .venv/installed
	ruff check .
	ruff format --check .
	mypy
	snakefmt --check .
	snakemake --lint

.venv/installed: requirements.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --disable-pip-version-check --requirement requirements.txt
	touch $@
