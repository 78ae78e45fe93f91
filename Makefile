# Every target sets up what it needs: Python 3.11 or newer, git and make are enough to start with.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test check format docs bench strain respell oracle prove clean

help:
	@echo "make demo               look at distlint at work on fixtures/showcase"
	@echo "make test               format, lint, types, tests, and a smoke test of the wheel"
	@echo "make check              the quick part of it: format, lint, types"
	@echo "make format             bring the code into shape"
	@echo "make docs               write the generated pages anew"
	@echo "make bench CORPUS=dir   measure CPU time and memory beside ruff"
	@echo "make strain             measure CPU time on programs that strain the analyses; CORPUS=dir for what these add there"
	@echo "make respell            look for findings that come and go when fixtures are spelled otherwise; RULES=PT5,HF2 for some, EVERY=10 for each tenth"
	@echo "make oracle             compare verdicts with those of real DeepSpeed, Megatron-LM and Colossal-AI releases"
	@echo "make prove              run the cases of rules for real; RULES=PT501,PT7 for some, CHANGED=1 for what is not in the record"
	@echo "make clean              remove what the other targets made"

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@

# Findings are what the showcase is for (exit code 1): the demo fails if there are none, or if distlint does.
demo: $(READY)
	@$(BIN)/distlint check fixtures/showcase; status=$$?; \
	if [ $$status -ne 1 ]; then echo "make demo: findings were expected, but the exit code is $$status" >&2; exit 1; fi

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test: check
	$(BIN)/python -m pytest -n 2
	$(BIN)/python tools/smoke.py

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(READY)
	$(BIN)/python tools/gen_docs.py
	$(BIN)/python tools/gen_usage.py
	$(BIN)/python tools/picture.py

bench: $(READY)
	@test -n "$(CORPUS)" || { echo "make bench: say which folder to measure on: make bench CORPUS=dir" >&2; exit 2; }
	$(BIN)/python tools/bench.py "$(CORPUS)"

strain: $(READY)
	$(BIN)/python tools/strain.py $(if $(CORPUS),--share "$(CORPUS)")

EVERY ?= 1

respell: $(READY)
	$(BIN)/python tools/respell/respell.py --rules "$(or $(RULES),PT,HF2,DS2)" --every $(EVERY)

# The real DeepSpeed on CPU: its kernels are compiled at first use, the ranks are torch's fake process group.
ORACLE := .oracle
RELEASES := 0.14.5 0.16.9 0.19.8
CASES ?= 150
HOSTED ?= 40
SEED ?= 0
# Megatron-LM's own checks of its arguments; MEGATRON=dir names a folder of checkouts for where its repository is out of reach.
MEGATRON_RELEASES := core_v0.12.3 core_v0.16.1 core_v0.19.0
MEGATRON_CASES ?= 100
MEGATRON ?=
# Colossal-AI's releases want an older torch, so they have an environment of their own, of several GB; empty: none of them.
COLOSSALAI_RELEASES := 0.3.8 0.4.4 0.5.0
COLOSSALAI_CASES ?= 100

$(ORACLE)/.ready: tools/oracle/requirements.txt
	$(PYTHON) -m venv $(ORACLE)/venv
	$(ORACLE)/venv/bin/python -m pip install --quiet --requirement $<
	touch $@

$(ORACLE)/deepspeed-%: $(ORACLE)/.ready
	DS_BUILD_OPS=0 $(ORACLE)/venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --target $@.part deepspeed==$*
	mv $@.part $@

$(ORACLE)/colossalai/.ready: tools/oracle/colossalai_requirements.txt
	$(PYTHON) -m venv $(ORACLE)/colossalai/venv
	$(ORACLE)/colossalai/venv/bin/python -m pip install --quiet 'setuptools<82' wheel
	$(ORACLE)/colossalai/venv/bin/python -m pip install --quiet --requirement $<
	touch $@

$(ORACLE)/colossalai-%: $(ORACLE)/colossalai/.ready
	$(ORACLE)/colossalai/venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --target $@.part colossalai==$*
	mv $@.part $@

oracle: $(READY) $(RELEASES:%=$(ORACLE)/deepspeed-%) $(COLOSSALAI_RELEASES:%=$(ORACLE)/colossalai-%)
	$(BIN)/python tools/oracle/deepspeed_oracle.py --home $(ORACLE) --releases $(RELEASES) --cases $(CASES) --seed $(SEED)
	$(BIN)/python tools/oracle/hosted_oracle.py --cases $(HOSTED) --seed $(SEED) --worker env DS_ACCELERATOR=cpu \
		PYTHONPATH=$(ORACLE)/deepspeed-$(lastword $(RELEASES)) $(ORACLE)/venv/bin/python tools/oracle/hosted_worker.py
	$(BIN)/python tools/oracle/megatron_source.py --home $(ORACLE) $(if $(MEGATRON),--checkouts $(MEGATRON)) $(MEGATRON_RELEASES)
	$(BIN)/python tools/oracle/megatron_oracle.py --home $(ORACLE) --releases $(MEGATRON_RELEASES) --cases $(MEGATRON_CASES) --seed $(SEED)
	$(if $(strip $(COLOSSALAI_RELEASES)),$(BIN)/python tools/oracle/colossalai_oracle.py --home $(ORACLE) \
		--releases $(COLOSSALAI_RELEASES) --cases $(COLOSSALAI_CASES) --seed $(SEED))

# Two processes on the CPU for each case; PROVE_PYTHON=python names an environment that has torch and the frameworks already.
PROVE := .prove
RULES ?=
CHANGED ?=
PROVE_PYTHON ?=
PROVE_PATH ?=

$(PROVE)/.ready: tools/prove/requirements.txt
	$(PYTHON) -m venv $(PROVE)/venv
	$(PROVE)/venv/bin/python -m pip install --quiet 'setuptools<82' wheel
	$(PROVE)/venv/bin/python -m pip install --quiet --requirement $< --requirement tools/oracle/requirements.txt
	DS_BUILD_OPS=0 $(PROVE)/venv/bin/python -m pip install --quiet --no-deps --no-build-isolation deepspeed==0.19.8
	touch $@

prove: $(READY) $(if $(PROVE_PYTHON),,$(PROVE)/.ready)
	$(BIN)/python tools/prove/prove.py --python $(or $(PROVE_PYTHON),$(PROVE)/venv/bin/python) \
		--path "$(PROVE_PATH)" --rules "$(RULES)" $(if $(CHANGED),--changed)

clean:
	rm -rf $(ORACLE) $(PROVE) $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .distlint_cache
