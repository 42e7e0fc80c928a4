# DP Frontier. Needs Python >= 3.11 and make; everything else goes into .venv.
#
#   make run     set up and open the dashboard      (PORT=8501; HOST=0.0.0.0 for other machines too)
#   make test    set up and run the tests           (ARGS="-k loss")
#   make bench   set up and run the benchmarks      (minutes)
#   make atlas  set up and make the atlas of first brackets again (minutes)
#   make lint    set up and check style, format and types
#   make mutants set up and see which changes of the proofs no test notices (hours; MUTANTS='dpcore.search.*' fewer)
#   make docs    set up and build the documentation site, in site/

PORT ?= 8501
HOST ?= 127.0.0.1
ARGS ?=
VENV := .venv
PYBIN := $(VENV)/bin/python
RUNTIME := $(VENV)/.runtime-installed
DEVELOP := $(VENV)/.develop-installed
WARM := .numba_cache/.warm

# Compiled kernels are kept here, so that only the first start pays for them.
export NUMBA_CACHE_DIR := $(CURDIR)/.numba_cache
export PIP_DISABLE_PIP_VERSION_CHECK := 1

ifndef PYTHON
PYTHON := $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$p; break; fi; done)
endif

.PHONY: run test bench atlas lint mutants docs chromium clean
.DELETE_ON_ERROR:

run: $(WARM)
	@STREAMLIT_SERVER_PORT=$(PORT) $(PYBIN) -m service.health --open & \
	$(PYBIN) -m streamlit run server.py --server.port $(PORT) \
	  --server.address $(HOST) --server.showEmailPrompt false

test: $(DEVELOP) $(WARM) chromium
	$(PYBIN) -m pytest $(ARGS)

bench: $(DEVELOP)
	$(PYBIN) -m benchmarks.bench_solve
	$(PYBIN) -m benchmarks.bench_everything
	$(PYBIN) -m benchmarks.bench_atlas
	$(PYBIN) -m benchmarks.bench_kernels
	$(PYBIN) -m benchmarks.bench_growth
	$(PYBIN) -m benchmarks.bench_solve --loss l2
	$(PYBIN) -m benchmarks.bench_reference
	$(PYBIN) -m benchmarks.bench_sweep
	$(PYBIN) -m benchmarks.bench_data_dependent
	$(PYBIN) -m benchmarks.bench_vector
	$(PYBIN) -m benchmarks.bench_learning
	$(PYBIN) -m benchmarks.bench_plan
	$(PYBIN) -m benchmarks.bench_intervals
	$(PYBIN) -m benchmarks.bench_release
	$(PYBIN) -m benchmarks.bench_isotropic --short
	$(PYBIN) -m benchmarks.bench_private_optimization
	$(PYBIN) -m benchmarks.bench_jobs
	$(PYBIN) -m benchmarks.bench_lessons
	$(PYBIN) -m benchmarks.bench_pages
	$(PYBIN) -m benchmarks.load_sessions
	$(PYBIN) -m benchmarks.bench_browser

atlas: $(RUNTIME)
	$(PYBIN) -m dpcore.optimal.atlas_make

lint: $(DEVELOP)
	$(PYBIN) -m ruff check .
	$(PYBIN) -m ruff format --check .
	$(PYBIN) -m mypy

mutants: $(DEVELOP)
	$(PYBIN) -m pip install -q -r requirements-mutants.txt
	CI=true $(PYBIN) -m mutmut run --max-children 2 $(MUTANTS)
	$(PYBIN) -m mutmut results

docs: $(DEVELOP)
	NO_MKDOCS_2_WARNING=1 $(PYBIN) -m mkdocs build --strict

clean:
	rm -rf site $(VENV) .numba_cache .pytest_cache .hypothesis .ruff_cache .mypy_cache .benchmarks mutants artifacts

# A new interpreter behind the environment has a newer date, which runs the installation again.
$(PYBIN):
	@test -n "$(PYTHON)" || { echo >&2 \
	  "No Python 3.11 or newer was found. Install one, or name it: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo >&2 \
	  "$(PYTHON) is too old or does not run: Python 3.11 or newer is needed"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "Installing python3-venv"; apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null; fi; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo >&2 \
	  "$(PYTHON) comes without venv. Install it (Debian, Ubuntu: apt-get install python3-venv) and try again"; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)

$(RUNTIME): requirements.txt $(PYBIN)
	$(PYBIN) -m pip install -q --only-binary :all: -r requirements.txt
	@touch $@

$(DEVELOP): requirements-dev.txt requirements-docs.txt $(RUNTIME)
	$(PYBIN) -m pip install -q -r requirements-dev.txt -r requirements-docs.txt
	@touch $@

# Compile the kernels before the server is up: a first visitor should not wait for the compiler.
$(WARM): $(RUNTIME) $(wildcard dpcore/*.py dpcore/kernels/*.py dpcore/optimal/*.py)
	@echo "Compiling (once)"
	@mkdir -p $(@D)
	@$(PYBIN) -m work.warm
	@touch $@

# The browser tests drive Chromium. Where it can be installed without asking, it is.
chromium:
	@if ! { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null 2>&1 \
	    && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	  echo "Installing Chromium for the browser tests"; \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	    chromium fonts-dejavu-core >/dev/null; } || true; fi
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null 2>&1 || \
	  echo "No Chromium and no way to install it here: the browser tests WILL BE SKIPPED."
