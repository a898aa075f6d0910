# Headwater. `make help` lists the targets. Everything is installed into .cache and .venv of this checkout.

# What is shown by make demo, the program behind make train, and flags for go test (GOTEST='-v -run Flow').
PROMPT    ?= mary has the red key . john has the blue lamp . who has the lamp ?
TRAIN     ?= ./cmd/train-tiny
GOTEST    ?=
MUTATIONS ?= 50000
SEED      ?= 1
NOTEBOOKS ?= $(wildcard notebooks/*.ipynb)

export PROMPT

in_env    := internal/setup/env
headwater := .cache/bin/headwater

.PHONY: help setup build demo test minilm vet unit notebooks-check notebooks check fuzz lab train bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: ## install what the other targets need (quick when it is there)
	@internal/setup/setup.sh

build: setup ## build the headwater command into .cache/bin
	@$(in_env) go build -buildvcs=false -o $(headwater) ./cmd/headwater

demo: build ## explain a prompt with the embedded model: terminal, HTML page, notebook
	@mkdir -p out
	@$(in_env) $(headwater) explain "$$PROMPT"
	@$(in_env) $(headwater) explain --format html -o out/demo.html "$$PROMPT"
	@$(in_env) python internal/setup/notebooks.py run --out out notebooks/00-quickstart.ipynb
	@echo
	@echo "text heatmap       above"
	@echo "HTML page          out/demo.html"
	@echo "executed notebook  out/00-quickstart.ipynb, as a page out/00-quickstart.html"
	@echo "next               make lab, or .cache/bin/headwater explain \"...\""

test: setup minilm vet unit notebooks-check ## run everything that continuous integration runs

minilm: setup # a real checkpoint for the tests: 84 MB
	@$(in_env) internal/peers/minilm.sh

vet: setup
	$(in_env) go vet ./...

unit: setup
	$(in_env) go test -timeout 80m $(GOTEST) ./...

notebooks-check: build ## execute the notebooks and compare with their committed outputs
	$(in_env) python internal/setup/notebooks_test.py
	$(in_env) python internal/setup/notebooks.py check $(or $(NOTEBOOKS),notebooks/*.ipynb)

notebooks: build ## execute the notebooks in place, to commit new outputs
	$(in_env) python internal/setup/notebooks.py write $(or $(NOTEBOOKS),notebooks/*.ipynb)

check: setup ## before sending: format, vet, race detector, linters
	@$(in_env) internal/setup/check.sh

fuzz: setup ## run the command on MUTATIONS damaged inputs (50000), from seed SEED (1): half an hour or more
	HEADWATER_MUTATIONS=$(MUTATIONS) HEADWATER_MUTATION_SEED=$(SEED) $(in_env) go test -count 1 -timeout 0 -v -run TestMutations ./internal/e2e/mutation

lab: build ## open JupyterLab with the kernel ready, on this machine only
	@$(in_env) jupyter lab --ServerApp.ip=127.0.0.1 $(if $(filter 0,$(shell id -u)),--allow-root) \
		--MappingKernelManager.default_kernel_name=gonb \
		--LabApp.default_url=/lab/tree/notebooks/00-quickstart.ipynb

train: setup ## train the embedded model anew (up to 90 minutes on 2 cores)
	$(in_env) go run -buildvcs=false $(TRAIN)

bench: setup ## run the benchmarks
	$(in_env) go test -run '^$$' -bench . -benchmem ./...

clean: ## remove everything that was installed, built or written here
	chmod -R u+w .cache 2>/dev/null || true
	rm -rf .cache .venv out
