# `make` alone prints what there is. Everything is installed into the checkout, nothing beside it.
PYTHON ?= python3
CONFIG ?= bucketcast.toml
N ?= 100000
SEED ?= 1
RUN := .venv/bin/python

# Tools of the terminal's other projects must not leak in.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV
# Node 20 works; the banner about its end of life would stand before every message.
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION := 20

.DEFAULT_GOAL := help
.PHONY: help python setup deployable up demo demo-scan spark stop lint type unit contract isolated model glue infra e2e test chaos synth lock bench clean

help: ## print these lines
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: deployable ## start the local AWS and deploy the stack into it (CONFIG=file, MINISTACK_PORT=4566)
	@$(RUN) -m localstack.up --config "$(CONFIG)"

demo: deployable ## the main job before your eyes: real S3 operations, every event as it arrives
	@$(RUN) -m localstack.demo --config "$(CONFIG)"

spark: python ## what the Spark jobs need on this machine: PySpark, a Java, and S3A
	@$(PYTHON) -m localstack.install spark
	@tests/servers/install javac mvn s3a

demo-scan: spark ## the Spark scanner before your eyes: alerts at the webhook, once (FULL=1: at real thresholds)
	@FULL="$(FULL)" $(RUN) -m localstack.demo_scan --config "$(CONFIG)"

stop: python ## end the local AWS and all that was started beside it
	@$(PYTHON) -m localstack.stop

setup: python ## install all that development needs into .venv, .local and node_modules
	@$(PYTHON) -m localstack.install dev

lint: setup ## ruff's checks and format, import-linter's walls
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	.venv/bin/lint-imports

type: setup ## mypy, strict
	$(RUN) -m mypy

unit: setup ## the tests that open no socket
	$(RUN) -m pytest tests/unit

contract: setup servers ## every target against its real server
	$(RUN) -m pytest tests/contract

isolated: setup servers ## the same, each kind where no other kind's client is (KIND=redis for one)
	$(RUN) -m tests.isolated $(KIND)

model: setup servers ## weeks on a simulated SQS, and mirrors beside the listing of a simulated bucket: many more than in `make test` (KIND=redis for one)
	MODEL_EXAMPLES=300 $(RUN) -m pytest tests/unit/simulation tests/contract/test_bucket_model.py $(if $(KIND),--kind $(KIND))

glue: setup servers ## the Spark jobs on Spark 4.1 and 3.5 (SPARK=3.5 for one)
	$(RUN) -m tests.spark $(SPARK)

infra: setup ## assertions on the template, bundles built for real
	$(RUN) -m pytest tests/infra

e2e: setup servers ## the deployed stack on the local AWS, with real servers
	$(RUN) -m pytest tests/e2e

test: setup servers ## install the servers that the tests need, then run every test
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target --keep-going e2e unit infra glue isolated

chaos: setup servers ## real operations and injected events over ten targets while all around them breaks (N=100000 SEED=1)
	@$(RUN) -m tests.chaos --events "$(N)" --seed "$(SEED)" --report .local/chaos/$(N)-$(SEED).md

synth: setup ## the template for a real account, into cdk.out (needs no network and no credentials)
	node_modules/.bin/cdk synth --quiet --context "config=$(CONFIG)"

lock: setup ## resolve all requirements anew and write every pinned file
	$(RUN) requirements/lock.py
	npm install --package-lock-only --loglevel=error

bench: setup servers ## measure again the figures in benchmarks/README.md, but the gateway's
	$(RUN) -m benchmarks.dispatch
	$(RUN) -m benchmarks.ingest
	$(RUN) -m benchmarks.coldstart
	$(RUN) -m benchmarks.requests
	$(RUN) -m benchmarks.tracing

clean: stop ## remove everything that was installed or built here
	rm -rf .venv .local node_modules cdk.out build dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

.PHONY: servers
servers:
	@tests/servers/install

deployable: python
	@$(PYTHON) -m localstack.install deploy

python:
	@command -v "$(PYTHON)" >/dev/null || { echo "no $(PYTHON) here: install Python 3.11 or newer, or name yours: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; v = sys.version_info[:2]; v >= (3, 11) or sys.exit("$(PYTHON) is Python %d.%d and 3.11 or newer is needed: name another, e.g. make PYTHON=python3.13" % v)'
