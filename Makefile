# Spillway. `make` lists what there is to do.
.DEFAULT_GOAL := help
SHELL := /bin/bash
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GO ?= go

# What the page for operators is made of. Without npm the binary says how to get it.
CONSOLE := internal/ops/console
CONSOLE_PAGE := $(CONSOLE)/page/index.html.gz
CONSOLE_SOURCES := $(wildcard $(CONSOLE)/src/*) $(CONSOLE)/build.mjs $(CONSOLE)/package.json $(CONSOLE)/package-lock.json

.PHONY: help build demo test test-console test-clients check fmt vet lint race fuzz bench bench-proxy bench-overload bench-agree bench-whatif bench-money bench-policies update

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(CONSOLE_PAGE) ## the binary, bin/spillway, with the console if npm is there
	$(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/spillway ./cmd/spillway

# A file that is not made stays missing, so the next make tries again.
$(CONSOLE_PAGE): $(CONSOLE_SOURCES)
	@if command -v npm >/dev/null; then \
	  cd $(CONSOLE) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && node build.mjs; \
	elif [ "$$CI" = true ]; then \
	  echo "the console needs npm (Node 20 or newer)" >&2; exit 1; \
	else \
	  echo "there is no npm: the binary gets no console (Node 20 or newer, then make build)"; \
	fi

demo: build ## the same overload with and without the gateway, in under a minute
	bin/spillway demo

test: build ## all tests in Go, also those with the official Go client
	$(GO) test ./...
	cd compat && $(GO) test ./...

test-console: $(CONSOLE_PAGE) ## tests of the console's rules (needs Node 20 or newer)
	cd $(CONSOLE) && node --test test/

test-clients: build ## tests with the npm clients (needs Node 20 or newer)
	cd compat/node && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && node --test

check: fmt vet lint race ## what must be clean before a change is handed in

fmt:
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "gofmt would change:"; echo "$$out"; exit 1; }

vet:
	$(GO) vet ./...

lint:
	$(GO) tool staticcheck ./...

race:
	$(GO) test -race ./...

fuzz: ## every fuzz target for FUZZTIME (20s) each
	@for p in $$($(GO) list ./...); do for f in $$($(GO) test -list '^Fuzz' $$p | grep ^Fuzz); do \
	  echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $${FUZZTIME:-20s} $$p || exit 1; done; done

bench: ## the cost of decisions and of the edges, with allocations
	$(GO) test -run '^$$' -bench . -benchmem ./internal/...

bench-proxy: build ## CPU and memory beside a bare reverse proxy and HAProxy
	$(GO) run ./bench/proxy

bench-overload: build ## goodput, fairness and priority under overload (about 11 minutes)
	$(GO) run ./bench/overload

bench-agree: build ## live runs beside the simulator on the same requests (about 5 minutes)
	$(GO) run ./bench/agree

bench-whatif: build ## what was foretold of a setting beside what came of it (about 10 minutes)
	$(GO) run ./bench/whatif

bench-money: build ## ledger and budgets while processes fail (about 15 minutes)
	$(GO) run ./bench/money

bench-policies: ## every policy on recorded load beside the clairvoyant (TRACES=directory of the Azure traces)
	$(GO) run ./bench/policies -traces "$(TRACES)"

update: ## rewrite golden files; look at the difference before you keep it
	$(GO) test ./internal/sim ./internal/edge/config ./internal/edge/telemetry ./internal/edge/wire ./internal/ops ./internal/top ./deploy -update
