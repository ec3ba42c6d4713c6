# Everything a developer runs. `make help` lists the targets.

GO ?= go

.PHONY: help build demo test bench bench-peers interop interop-all fuzz lint cross update

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build the tarn command into bin/
	$(GO) build -o bin/ ./cmd/tarn

demo: ## the guided tour on a local directory, no server: late rows, real flights, SQL
	$(GO) run ./examples/demo

test: ## all test groups, one after another, with the time of each
	@bash scripts/test-groups.sh

bench: ## Go benchmarks of each stage
	$(GO) test -run '^$$' -bench . -benchmem ./...

bench-peers: ## the contest with Java Paimon, pypaimon-native and DuckDB (SIZE=5m REPETITIONS=5 WORKLOADS=lsm)
	@bash scripts/bench-peers.sh $(or $(SIZE),5m) $(or $(REPETITIONS),5) $(or $(WORKLOADS),lsm)

interop: ## round trips with Java Paimon and pypaimon
	@bash scripts/test-groups.sh interop

interop-all: ## the same with SQL of Flink, by its gateway (a download of 350 MB, once)
	@bash scripts/test-groups.sh interop-all

fuzz: ## every fuzz target for a while (FUZZTIME=3s each)
	@bash scripts/fuzz-all.sh

lint: ## go vet, gofmt, staticcheck and the rules of internal/lint
	@bash scripts/test-groups.sh lint checks

cross: ## build for the other supported systems, without cgo
	@bash scripts/test-groups.sh cross

update: ## rewrite docs/api.txt and the dependency list after a wanted change
	$(GO) test ./internal/lint -update
