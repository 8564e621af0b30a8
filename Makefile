# Two commands matter: `make demo` shows a diagnosis, `make test` tests everything. Each builds .venv by itself when it is missing or stale.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(PYTHON) -m pip --python $(BIN)/python --disable-pip-version-check
PARTS := pyproject.toml setup.py $(wildcard src/sabueso/native/*)
JOBS ?= 2

.PHONY: demo test check snapshots oracle clean

demo: $(VENV)/.demo
	@mkdir -p build/demo && cp src/sabueso/demo/digits.py build/demo/
	@echo '$$ sabueso run digits.py'
	@cd build/demo && ../../$(BIN)/python -m sabueso run digits.py

test: $(VENV)/.test
	$(BIN)/python -m pytest -o addopts= -n $(JOBS) --dist worksteal tests

check: $(VENV)/.test
	$(BIN)/ruff format --check src tests bench
	$(BIN)/ruff check src tests bench
	$(BIN)/python -m pytest -o addopts= -q tests/test_architecture.py tests/test_vocabulary.py

snapshots: $(VENV)/.test
	SABUESO_SNAPSHOTS=write $(BIN)/python -m pytest -q tests/test_show.py

# TensorBoard and MLflow in an interpreter of their own, beside which round trips are tested: in ours they would change what other libraries do.
oracle:
	$(PYTHON) -m venv build/oracle || $(PYTHON) -m venv --without-pip --clear build/oracle
	$(PYTHON) -m pip --python build/oracle/bin/python --disable-pip-version-check install --quiet tensorboard mlflow-skinny sqlalchemy alembic

clean:
	rm -rf $(VENV) build .pytest_cache .ruff_cache

# A stamp is newer than all that decides what is installed. Debian without python3-venv can still make a bare one, which pip fills from outside.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || $(PYTHON) -m venv --without-pip --clear $(VENV)

$(VENV)/.demo: $(BIN)/python $(PARTS)
	$(PIP) install --quiet -e '.[demo]'
	@touch $@

$(VENV)/.test: $(BIN)/python $(PARTS)
	$(PIP) install --quiet -e '.[test]'
	@touch $@ $(VENV)/.demo
