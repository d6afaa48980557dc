# Each target makes .venv from requirements.txt and then calls a tool.

PYTHON ?= python3
BARE ?= python3.12
# Not 3.14: immutables, a pin of requirements.txt, has no wheel for it.
CHECK = $(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14) and "Python 3.11, 3.12 or 3.13 is needed: make PYTHON=python3.13")' \
	&& $(PYTHON) -I workflow/dag/environment.py
# Pip's messages go to install.log in the virtual environment; they are shown if it fails.
PIP = $(PYTHON) -I workflow/cli/install.py
# Modules of this clone, and none of another project.
export PYTHONPATH := $(CURDIR)
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: help reproduce report test test-skipped test-cluster test-gpu test-bare gpu lint site

help:
	@echo "make .venv/installed   installs everything"
	@echo "make reproduce         installs everything, trains the experiment quick, compares its tables with ours"
	@echo "make report            makes the report of quick again"
	@echo "make site              makes the pages of this project"
	@echo "make gpu               measures the speed of this machine's GPU in ten minutes (docs/gpu.md)"
	@echo "make lint test         checks the code; further tests: CONTRIBUTING.md"

# These two make .venv/installed themselves, after they have checked that the text is available on this machine.
reproduce report:
	@$(CHECK) && exec $(PYTHON) -m workflow.cli.reproduce $@

test: .venv/installed
	.venv/bin/python -m pytest

# What the last run of the tests skipped, and the tests of agreement: after more has been installed.
test-skipped: .venv/installed
	.venv/bin/python -m pytest --skipped

# Runs the workflow on a Slurm that the tests start on this machine. As root, it installs Slurm's packages if necessary.
test-cluster: .venv/installed
	.venv/bin/python -m pytest -m cluster

# The tests that need a GPU. All other tests hide it.
test-gpu: .venv/installed
	.venv/bin/python -m pytest -m gpu

# Tries `gpu` at tiny sizes with only the packages of a GPU machine without internet, on a CPU: docs/gpu.md.
test-bare: .venv/installed .venv-bare/installed
	.venv/bin/python -m benchmarks.gpu.offline --prepare 3.12
	.venv-bare/bin/python -m benchmarks.gpu.offline --tiny --output-dir results/gpu/bare

# Measures the speed of this machine's GPU in ten minutes: docs/gpu.md.
gpu: .venv/installed
	.venv/bin/python -m benchmarks.gpu

lint: .venv/installed
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/snakefmt --check .
	.venv/bin/snakemake --lint

# The pages of this project, with its results; they are read from disk.
site: .venv/site
	@echo "building the pages: about a minute"
	@.venv/bin/python -m sphinx -q -a -W --keep-going -c docs -d results/.doctrees . results/site
	@echo "open results/site/index.html"

# PyTorch from PyPI includes 3 GB of CUDA. On Linux without an NVIDIA driver, it is therefore installed from PyTorch's
# own index, without CUDA. There are two exceptions: a machine with Slurm, because its nodes may have GPUs, and a pip
# that is configured to use a certain index.
.venv/installed: requirements.txt
	@$(CHECK)
	@echo "installing the packages of $< into .venv: 1.6 GB (5 GB with CUDA), a few minutes; log: .venv/install.log"
	@$(PYTHON) -m venv .venv
	@if test "$$(uname)" = Linux && ! command -v nvidia-smi >/dev/null && ! command -v sbatch >/dev/null && \
	! .venv/bin/python -m pip config list | grep -e index -e find-links >/dev/null; then \
		echo "no NVIDIA driver: PyTorch without CUDA (docs/install.md says how to install it with CUDA)"; \
		$(PIP) .venv --timeout 5 --retries 0 --no-deps \
			--index-url https://download.pytorch.org/whl/cpu "$$(grep '^torch==' $<)" || \
		echo "PyTorch's index cannot be used: PyTorch as PyPI has it"; \
	fi
	@$(PIP) .venv --requirement $<
	@touch $@

# This installs 5 GB. A GPU machine without internet may lack pydantic, although a package of the list needs it.
.venv-bare/installed: tests/bare.txt
	@echo "installing the packages of $< into .venv-bare: 5 GB, some minutes; log: .venv-bare/install.log"
	@$(BARE) -m venv .venv-bare
	@$(PIP) .venv-bare --requirement $<
	@.venv-bare/bin/python -m pip uninstall --quiet --yes pydantic pydantic-core annotated-types typing-inspection
	@touch $@

.venv/site: docs/requirements.txt .venv/installed
	@echo "installing the packages of the site into .venv: 70 MB"
	@$(PIP) .venv --requirement $<
	@touch $@

.venv/witnesses: tests/witnesses.txt .venv/installed
	@echo "installing the packages that tests compare with into .venv"
	@$(PIP) .venv --requirement $<
	@touch $@
