# Two commands do everything: `make demo` and `make test`. Each makes its own environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := build_core.py hatch_build.py $(wildcard src/epimeter/core/*.[ch] src/epimeter/core/*/*.[ch])

# Tests start many processes: let Python keep what it compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: docs experiments fuzz demo demo-llm test slow endurance tools lint format clean generate wheels lock changelog

$(VENV)/.demo: pyproject.toml $(CORE)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing epimeter into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plots]'
	@touch $@

$(VENV)/.test: pyproject.toml requirements.lock $(CORE)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing epimeter with its test extras into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[test,lint]'
	@touch $@

demo: $(VENV)/.demo
	@$(BIN)/epimeter demo

demo-llm: $(VENV)/.demo
	@$(BIN)/epimeter evaluate src/epimeter/data/sums_mockllm.json
	@$(BIN)/epimeter evaluate src/epimeter/data/sums_mockllm.json -o demo-llm.html

test: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal

slow: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow

# Packages of other people that are too large for the suite (wandb, Beam, Ray, datasets, Lightning, ClickHouse), in an environment of their own.
tools: $(CORE)
	@test -x .venv-tools/bin/python || $(PYTHON) -m venv .venv-tools
	.venv-tools/bin/python -m pip install --quiet --disable-pip-version-check -e '.[tools]'
	.venv-tools/bin/python -m pytest -m tools tests/tools

# The service under a hundred kills and five minutes of made-up requests: about half an hour.
endurance: $(VENV)/.test
	EPIMETER_KILLS=50 EPIMETER_SCHEMA_SECONDS=300 $(BIN)/python -m pytest -m slow tests/service

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The site, offline, into build/site; nothing is fetched.
docs: $(VENV)/.test
	$(BIN)/python docs/site/build.py build/site

# The pages of the experiments again: ECD from stored forecasts (RAW=folder trains the models first, experiments/ecd/README.md),
# and the bias study; SIZE=medium takes half an hour of two cores, whole some hours.
SIZE ?= small
experiments: $(VENV)/.test
	$(if $(RAW),$(BIN)/python experiments/ecd/train.py $(RAW))
	$(BIN)/epimeter experiment ecd build/experiments/ecd
	$(BIN)/python experiments/ecd/page.py build/experiments/ecd
	$(BIN)/epimeter experiment bias build/experiments/bias --size $(SIZE)
	$(BIN)/python experiments/bias/page.py build/experiments/bias

generate: $(VENV)/.test
	$(BIN)/python -m epimeter.generate
	$(BIN)/python -m epimeter.standards.conformance

# Pins everything that tests and linters install, as a fresh environment gets it today.
lock:
	@rm -rf .lock-venv && $(PYTHON) -m venv .lock-venv
	@.lock-venv/bin/python -m pip install --quiet --disable-pip-version-check '.[test,lint]'
	@(grep '^#' requirements.lock; .lock-venv/bin/python -m pip freeze --exclude epimeter) > .lock-venv/requirements.lock
	@mv .lock-venv/requirements.lock requirements.lock && rm -rf .lock-venv

# What the next release will say, from the notes in changelog.d.
changelog:
	@$(PYTHON) changelog.py

# Wheels for Linux on both kinds of processor, whatever this machine is: zig compiles for the other one.
wheels:
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	EPIMETER_TARGET=x86_64-linux-gnu.2.17 $(BIN)/python -m pip wheel --quiet --no-deps -w dist .
	EPIMETER_TARGET=aarch64-linux-gnu.2.17 $(BIN)/python -m pip wheel --quiet --no-deps -w dist .
	@ls dist/*.whl

# libFuzzer over what foreign Parquet bytes reach, with sanitizers; needs clang. A finding is written beside the corpus.
SECONDS ?= 600
fuzz: $(VENV)/.test
	$(BIN)/python fuzz/seeds.py build/fuzz/corpus
	clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Isrc/epimeter/core -Isrc/epimeter/core/include \
		fuzz/parquet_pages.c src/epimeter/core/parquet_pages.c src/epimeter/core/parquet_footer.c -o build/fuzz/parquet_pages
	build/fuzz/parquet_pages -max_total_time=$(SECONDS) -max_len=4096 -print_final_stats=1 -artifact_prefix=build/fuzz/ build/fuzz/corpus

clean:
	rm -f src/epimeter/core/_native.abi3.so
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
