PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: demo test bench bench-peers clean

demo: .venv/core.stamp  ## set up and run the main job
	$(BIN)/affinelens demo

test: .venv/dev.stamp  ## set up, lint, check types and run the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n auto

bench: .venv/dev.stamp  ## measure, side by side, and print tables
	$(BIN)/python -m benchmarks

bench-peers: .venv/dev.stamp  ## measure other tools, each in an environment of its own
	$(BIN)/python -m benchmarks --peers

.venv/python.stamp:
	$(PYTHON) -m venv .venv
	touch $@

.venv/core.stamp: .venv/python.stamp pyproject.toml
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[plot]'
	touch $@

.venv/dev.stamp: .venv/python.stamp pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch .venv/core.stamp $@

clean:
	rm -rf .venv .venv-peers .pytest_cache .mypy_cache .ruff_cache .hypothesis
