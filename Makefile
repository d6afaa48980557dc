# Makes .venv from requirements.txt, then calls the tool.

PYTHON ?= python3
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: reproduce report test lint

reproduce: .venv/installed
	snakemake --cores all

report: .venv/installed
	snakemake --cores all --report results/quick/report.html

test: .venv/installed
	python -m pytest

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
