# Each target makes .venv from the pins of requirements.txt and then calls a tool.

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

.PHONY: help reproduce report test test-skipped test-cluster test-gpu test-bare test-wheel gpu lint lock site notebook lesson check-lesson

help:
	@echo "make .venv/installed   installs everything"
	@echo "make reproduce         installs everything, trains the experiment quick, compares its tables with ours"
	@echo "make report            makes the report of quick again"
	@echo "make site              makes the pages of this project"
	@echo "make notebook          opens the paper as a notebook in Jupyter"
	@echo "make lesson            makes a lesson of the course, for example SECTION=3.2.1 (docs/course.md)"
	@echo "make gpu               measures the speed of this machine's GPU in ten minutes (docs/gpu.md)"
	@echo "make lint test         checks the code; further tests: CONTRIBUTING.md"

# These two make .venv/installed themselves, after they have checked that the text is available on this machine.
reproduce report:
	@$(CHECK) && exec $(PYTHON) -m workflow.cli.reproduce $@

test: .venv/tests
	.venv/bin/python -m pytest

# What the last run of the tests skipped, and the tests of agreement: after more has been installed.
test-skipped: .venv/tests
	.venv/bin/python -m pytest --skipped

# Runs the workflow on a Slurm that the tests start on this machine. As root, it installs Slurm's packages if necessary.
test-cluster: .venv/tests
	.venv/bin/python -m pytest -m cluster

# The tests that need a GPU. All other tests hide it.
test-gpu: .venv/tests
	.venv/bin/python -m pytest -m gpu

# Tries `gpu` at tiny sizes with only the packages of a GPU machine without internet, on a CPU: docs/gpu.md.
test-bare: .venv/installed .venv-bare/installed
	.venv/bin/python -m benchmarks.gpu.offline --prepare 3.12
	.venv-bare/bin/python -m benchmarks.gpu.offline --tiny --output-dir results/gpu/bare

# Installs the package `transformer` alone, into an environment without the pins, and uses it outside the clone.
test-wheel:
	@rm -rf .venv-wheel && $(PYTHON) -m venv .venv-wheel
	@$(call TORCH,.venv-wheel)
	@$(PIP) .venv-wheel "$(CURDIR)"
	cd / && $(CURDIR)/.venv-wheel/bin/transformer --help >/dev/null
	cd / && echo "A man rides a bicycle." | $(CURDIR)/.venv-wheel/bin/transformer translate \
		--package $(CURDIR)/models/ende/big/6/average-5/package | grep -x "Ein Mann fährt ein Fahrrad."

# Measures the speed of this machine's GPU in ten minutes: docs/gpu.md.
gpu: .venv/installed
	.venv/bin/python -m benchmarks.gpu

lint: .venv/tests
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

# Opens docs/notebook.md in Jupyter. What you change there stays in a copy.
notebook: .venv/notebook
	.venv/bin/jupytext --output results/notebook.ipynb docs/notebook.md
	.venv/bin/jupyter lab results/notebook.ipynb

# PyTorch from PyPI includes 3 GB of CUDA. On Linux without an NVIDIA driver, it is therefore installed from PyTorch's
# own index, without CUDA. There are two exceptions: a machine with Slurm, because its nodes may have GPUs, and a pip
# that is configured to use a certain index. It has no hash, because each build has another.
.venv/installed: requirements.txt requirements-torch.txt
	@$(CHECK)
	@echo "installing the packages of $< and PyTorch into .venv: 1.5 GB (5 GB with CUDA), a few minutes; log: .venv/install.log"
	@$(PYTHON) -m venv .venv
	@$(PIP) .venv --requirement $<
	@$(call TORCH,.venv)
	@touch $@

define TORCH
if test "$$(uname)" = Linux && ! command -v nvidia-smi >/dev/null && ! command -v sbatch >/dev/null && \
! $(1)/bin/python -m pip config list | grep -e index -e find-links >/dev/null; then \
	echo "no NVIDIA driver: PyTorch without CUDA (docs/install.md says how to install it with CUDA)"; \
	$(PIP) $(1) --timeout 5 --retries 0 --no-deps --index-url https://download.pytorch.org/whl/cpu \
		--requirement requirements-torch.txt || \
	echo "PyTorch's index cannot be used: PyTorch as PyPI has it"; \
fi; \
$(PIP) $(1) --requirement requirements-torch.txt
endef

# This installs 5 GB. A GPU machine without internet may lack pydantic, although a package of the list needs it.
.venv-bare/installed: tests/bare.txt
	@echo "installing the packages of $< into .venv-bare: 5 GB, some minutes; log: .venv-bare/install.log"
	@$(BARE) -m venv .venv-bare
	@$(PIP) .venv-bare --requirement $<
	@.venv-bare/bin/python -m pip uninstall --quiet --yes pydantic pydantic-core annotated-types typing-inspection
	@touch $@

.venv/tests: tests/requirements.txt .venv/installed
	@echo "installing the packages of tests and checks into .venv: 150 MB"
	@$(PIP) .venv --requirement $<
	@touch $@

.venv/site: docs/requirements.txt .venv/installed
	@echo "installing the packages of the site into .venv: 70 MB"
	@$(PIP) .venv --requirement $<
	@touch $@

# A lesson of docs/course.md: SECTION=3.2.1, and FOLDER, if the copy is to be elsewhere.
FOLDER = results/lessons/$(SECTION)
lesson: .venv/tests
	@.venv/bin/python -m workflow.cli.lesson new $(SECTION) "$(FOLDER)"

check-lesson: .venv/tests
	@.venv/bin/python -m workflow.cli.lesson check $(SECTION) "$(FOLDER)"

.venv/notebook: docs/notebook.txt .venv/installed
	@echo "installing Jupyter into .venv: 200 MB"
	@$(PIP) .venv --requirement $<
	@touch $@

.venv/witnesses: tests/witnesses.txt .venv/tests
	@echo "installing the packages that tests compare with into .venv"
	@$(PIP) .venv --requirement $<
	@touch $@

# Makes all pins anew after pyproject.toml has changed; those that still fit stay. It needs uv (pip install uv). The libraries
# that PyTorch brings along are its own choice.
LOCK = uv pip compile --quiet --universal --python-version 3.11.2 --generate-hashes --no-annotate --no-header
lock:
	@$(LOCK) pyproject.toml --extra workflow --constraint requirements-torch.txt --output-file requirements.txt >/dev/null
	@for group in tests:tests/requirements.txt site:docs/requirements.txt notebook:docs/notebook.txt \
		witnesses:tests/witnesses.txt; do \
		$(LOCK) --group $${group%%:*} --constraint requirements-torch.txt --constraint requirements.txt \
			--output-file $${group#*:} >/dev/null || exit; \
	done
	@for file in requirements.txt tests/requirements.txt docs/requirements.txt docs/notebook.txt tests/witnesses.txt; do \
		sed -E '/^(torch|triton|(cuda|nvidia)-[a-z0-9-]+)==/,/[^\\]$$/d' $$file >$$file.new && mv $$file.new $$file; \
	done
	@{ sed '/- pip:/q' environment.yml; cat requirements.txt requirements-torch.txt tests/requirements.txt | \
		sed -nE 's/^([a-z0-9].*==[^\\]*[^\\ ]).*/      - \1/p' | sort -u -t= -k1,1; } >environment.yml.new && mv environment.yml.new environment.yml
