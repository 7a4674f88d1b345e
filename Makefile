# `make` alone prints the targets. Everything is installed into the checkout.
PYTHON ?= python3
CONFIG ?= bucketcast.toml
N ?= 100000
SEED ?= 1
RUN := .venv/bin/python

# Tools of the terminal's other projects must not leak in. Where no bytecode is written, each of the
# thousand processes of a test run compiles the CDK or boto3 again.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PYTHONDONTWRITEBYTECODE
# Node 20 works; the banners about its end of life would stand before every message.
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION := 20
export AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED := true

.DEFAULT_GOAL := help
.PHONY: help demo up spark stop test check model chaos clients bench setup lock audit clean
.PHONY: deployable synth dist python servers

help:
	@awk -F ':.*## ' '/^##@ / { print substr($$0, 5) } \
		/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ run it
demo: deployable ## run the demo: real S3 operations, and every event as it arrives
	@$(RUN) -m localstack.demo --config "$(CONFIG)"

up: deployable ## start the local AWS and deploy the stack into it (CONFIG=file, MINISTACK_PORT=4566)
	@$(RUN) -m localstack.up --config "$(CONFIG)"

spark: python ## install what the Spark jobs need locally: PySpark, Java, S3A and Iceberg
	@$(PYTHON) -m localstack.install spark
	@tests/servers/install javac mvn s3a iceberg

stop: python ## stop the local AWS and everything started with it; its objects and rules are lost
	@$(PYTHON) -m localstack.stop

##@ test it
# Unit tests and those of the templates need no server.
test: python ## install the servers, then run all tests (PARTS="unit glue contract-redis" for some; JOBS=6 at a time)
	@$(MAKE) --no-print-directory --jobs 2 setup $(if $(filter-out unit infra,$(or $(PARTS),all)),servers)
	@JOBS="$(JOBS)" $(RUN) -m tests.suite $(PARTS)

check: setup ## ruff (checks and format), import-linter and mypy
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	.venv/bin/lint-imports
	$(RUN) -m mypy

model: setup servers ## model-based tests of queues and mirrors, with more examples than in `make test` (KIND=redis for one)
	MODEL_EXAMPLES=300 $(RUN) -m pytest tests/unit/simulation tests/contract/test_bucket_model.py $(if $(KIND),--kind $(KIND))

chaos: setup servers ## chaos test: N events to ten targets while everything around them fails (N=100000 SEED=1)
	@$(RUN) -m tests.chaos --events "$(N)" --seed "$(SEED)" --report .local/chaos/$(N)-$(SEED).md

clients: setup servers ## functional tests of MinIO's clients and the AWS CLI against the gateway (SUITES="mc aws-cli")
	@$(RUN) -m tests.clients $(SUITES)

bench: setup servers ## measure the figures in benchmarks/README.md, except the gateway's, the scanner's and the race's
	$(RUN) -m benchmarks.dispatch
	$(RUN) -m benchmarks.webhooks
	$(RUN) -m benchmarks.system
	$(RUN) -m benchmarks.ingest
	$(RUN) -m benchmarks.coldstart
	$(RUN) -m benchmarks.price
	$(RUN) -m benchmarks.pollers
	$(RUN) -m benchmarks.scale

##@ change it
setup: python ## install the development environment into .venv, .local and node_modules
	@$(PYTHON) -m localstack.install dev

lock: setup ## upgrade the pinned requirements, or one of them (PACKAGE=urllib3)
	$(RUN) requirements/lock.py $(PACKAGE)
	$(if $(PACKAGE),,npm install --package-lock-only --loglevel=error)

audit: setup ## name the pinned packages with known vulnerabilities
	@$(RUN) requirements/audit.py

clean: stop ## stop, and remove everything installed or built here
	rm -rf "$$(readlink -f .local/demo/postgres/home)"  # elsewhere where its user cannot pass this folder
	rm -rf .venv .local node_modules cdk.out build dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

##@ ship it
deployable: python ## install what a deploy needs, and no tools of development
	@$(PYTHON) -m localstack.install deploy

synth: CONFIG = examples/aws/bucketcast.toml
synth: deployable ## write the template for an AWS account to cdk.out, without network or credentials (CONFIG=file)
	node_modules/.bin/cdk synth --quiet --context "config=$(CONFIG)"

dist: setup ## build the wheel, the source archive and the bill of materials into dist
	$(RUN) -m uv build --no-build-isolation --offline --clear --out-dir dist
	$(RUN) -m uv venv --quiet --clear --python $(RUN) .local/environments/wheel
	$(RUN) -m uv pip install --quiet --python .local/environments/wheel --constraint requirements/deploy.txt \
		--requirement pyproject.toml --all-extras dist/*.whl
	$(RUN) -m uv run --quiet --no-project --with-requirements requirements/sbom.txt cyclonedx-py environment \
		--pyproject pyproject.toml --output-reproducible --output-file dist/bucketcast.cdx.json .local/environments/wheel

# What the targets above need.
servers:
	@tests/servers/install

python:
	@command -v "$(PYTHON)" >/dev/null || { echo "$(PYTHON) not found: install Python 3.11 or newer, or set make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; v = sys.version_info[:2]; v >= (3, 11) or sys.exit("$(PYTHON) is Python %d.%d, but 3.11 or newer is required: set e.g. make PYTHON=python3.13" % v)'
