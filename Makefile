# Headwater. `make help` lists the targets. Everything is installed into .cache and .venv of this
# checkout.

# What make demo explains, the program of make train, and flags for go test
# (GOTEST='-v -run Flow').
PROMPT    ?= mary has the red key . john has the blue lamp . who has the lamp ?
TRAIN     ?= ./cmd/train-tiny
GOTEST    ?=
MUTATIONS ?= 50000
SEED      ?= 1
# A package that takes longer hangs. The slowest one takes minutes on two idle cores, so the limit
# leaves room for a machine that does other things. What can hang has shorter limits of its own:
# requests to Chromium, cells of a notebook, mutants.
TIMEOUT   ?= 3h
NOTEBOOKS ?= $(wildcard notebooks/*.ipynb)
# How long one notebook may take, for a machine that does other things as well.
MINUTES   ?= 10

# What make demo explains with SmolLM2.
REAL_PROMPT ?= The Eiffel Tower is in Paris. The Colosseum is in

export PROMPT REAL_PROMPT

in_env    := internal/setup/env
headwater := .cache/bin/headwater
# Whether --model smollm2 opens without a download: in .cache or in the cache of the Hub.
has_smollm2 = $(in_env) $(headwater) models | grep -q '^smollm2: .*, downloaded: '

.PHONY: ceiling help setup run-setup lab-setup build demo quick test minilm smollm2 unit cross python-check notebooks-check notebooks figures gallery site check fuzz lab image-check image-quick train bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: ## install what the other targets need (the second time it takes a second)
	@internal/setup/setup.sh

# Without the linters and gopls, which take minutes to compile and which no test needs.
run-setup:
	@internal/setup/setup.sh run

# Without the linters.
lab-setup:
	@internal/setup/setup.sh lab

build: run-setup ## build the headwater command into .cache/bin
	@$(in_env) go build -buildvcs=false -o $(headwater) ./cmd/headwater

demo: build ## explain a prompt with the embedded model: terminal, HTML page, notebook
	@mkdir -p out
	@$(in_env) $(headwater) install >out/install.log 2>&1 || { cat out/install.log; exit 1; }
	@$(in_env) python internal/setup/notebooks.py run --out out notebooks/00-quickstart.ipynb
	@$(in_env) $(headwater) explain -o out/demo.html "$$PROMPT"
	@if $(has_smollm2); then \
		$(in_env) $(headwater) explain --model smollm2 -o out/smollm2.html "$$REAL_PROMPT"; fi
	@echo
	@$(in_env) $(headwater) explain --max-tokens 1 --top 3 --methods direct "$$PROMPT" 2>/dev/null
	@if $(has_smollm2); then echo; \
		$(in_env) $(headwater) explain --max-tokens 1 --top 3 --methods direct --model smollm2 "$$REAL_PROMPT" 2>/dev/null; fi
	@echo
	@echo "the first word of each answer stands above; all words are in these pages:"
	@echo "  out/demo.html            the toy model"
	@if $(has_smollm2); then echo "  out/smollm2.html         SmolLM2, a language model"; \
		else echo "  make smollm2 brings a language model (93 MB), and make demo then shows it too"; fi
	@echo "  out/00-quickstart.html   the notebook, which is out/00-quickstart.ipynb"
	@echo "two stacks: .cache/bin/headwater explain --model tiny-translation \"the old queen slept .\""
	@echo "next: make lab, or .cache/bin/headwater explain \"...\""

# No file is named none, so that no test finds the plugin of XLA. The longest packages begin first,
# so that none of them runs alone at the end.
quick: run-setup ## the tests for daily work: no XLA, no browser, no notebook kernel
	HEADWATER_XLA=none $(in_env) go test -short -timeout $(TIMEOUT) $(GOTEST) \
		./models/transformer ./cmd/headwater/... ./models/... ./...

test: ceiling minilm smollm2 unit cross python-check image-quick notebooks-check ## run everything that continuous integration runs

ceiling: # no package is larger than internal/setup/ceiling says
	@internal/setup/measure.sh check

minilm: run-setup # a real checkpoint for the tests: 84 MB
	@$(in_env) internal/bench/peers/minilm.sh

# The weights whose numbers are recorded, and not those of the Hub.
smollm2: run-setup ## bring a small language model, SmolLM2-135M-Instruct, into .cache/models: 93 MB
	@$(in_env) internal/bench/peers/smollm2.sh

# With all checks of go vet, which then need no pass of their own over the packages. All tests that
# run the command share one. The longest packages begin first, and one more than there are cores,
# because some wait for Chromium, a kernel or the network of this machine.
unit: build
	HEADWATER_BIN='$(CURDIR)/$(headwater)' $(in_env) go test -vet=all -timeout $(TIMEOUT) \
		-p $$(($$(getconf _NPROCESSORS_ONLN) + 1)) $(GOTEST) $(addprefix ./internal/e2e/, \
		methods browser notebook backends realmodels . release firstminutes mutation) \
		./models/transformer ./cmd/headwater/explain ./...

cross: run-setup # the packages and the command for systems without cgo
	@$(in_env) internal/setup/cross.sh

# Without a wheel; python/README.md says how to make one.
python-check: build # the package for Python with the command
	@HEADWATER_BIN='$(CURDIR)/$(headwater)' PYTHONPATH=python/src $(in_env) \
		python python/test_headwater.py

notebooks-check: build ## execute the notebooks and compare with their committed outputs
	$(in_env) python internal/setup/notebooks_test.py
	@$(in_env) $(headwater) install
	$(in_env) python internal/setup/notebooks.py check --minutes $(MINUTES) $(or $(NOTEBOOKS),notebooks/*.ipynb)

notebooks: build smollm2 ## execute the notebooks in place, to commit new outputs
	@$(in_env) $(headwater) install
	$(in_env) python internal/setup/notebooks.py write --minutes $(MINUTES) $(or $(NOTEBOOKS),notebooks/*.ipynb)

figures: build ## make the figures and tables of the four documents into figures/, with verdicts
	@$(in_env) $(headwater) figures

gallery: build # docs/figures.md and its pictures
	@$(in_env) $(headwater) figures --gallery -o docs

# The page of live pictures has those of SmolLM2 where it is there.
site: build ## the documents as pages that need no server, with live pictures, in out/site
	@rm -rf out/site
	@$(in_env) go run -buildvcs=false ./internal/site -o out/site -headwater $(headwater)
	@echo "open out/site/index.html"

check: setup ## before sending: format, vet, race detector, linters
	@$(in_env) internal/setup/check.sh

fuzz: run-setup ## run the command on MUTATIONS damaged inputs (50000), from seed SEED (1): half an hour or more
	HEADWATER_MUTATIONS=$(MUTATIONS) HEADWATER_MUTATION_SEED=$(SEED) $(in_env) go test -count 1 -timeout 0 -v -run TestMutations ./internal/e2e/mutation

lab: lab-setup build ## open JupyterLab with the kernel ready, on this machine only
	@$(in_env) $(headwater) install
	@$(in_env) jupyter lab --ServerApp.ip=127.0.0.1 $(if $(filter 0,$(shell id -u)),--allow-root) \
		--MappingKernelManager.default_kernel_name=headwater \
		--LabApp.default_url=/lab/tree/notebooks/00-quickstart.ipynb

image-check: ## run the steps of docker/Dockerfile without a container engine (some minutes)
	@docker/check.sh

# Without gopls, and with Python packages that are fetched once. The image is for Linux.
image-quick: run-setup
	@if [ "$$(uname -s)" = Linux ]; then docker/check.sh --quick; fi

train: run-setup ## train the embedded model again (17 minutes on 2 quiet cores)
	$(in_env) go run -buildvcs=false $(TRAIN)

bench: run-setup ## run the benchmarks
	$(in_env) go test -run '^$$' -bench . -benchmem ./...

clean: ## remove everything that was installed, built or written here
	chmod -R u+w .cache 2>/dev/null || true
	rm -rf .cache .venv out figures
