# What a person or CI types. Two commands are enough to begin with:
#   make demo    a real run on this machine, ending in a report
#   make test    every test, with what it needs installed first
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build
# One thing at a time: what measures needs the machine for itself.
.NOTPARALLEL:

GO ?= go
# The binary is static, so that it runs on any machine it is copied to. Only
# the race detector needs C.
export CGO_ENABLED := 0

BIN := bin/scalebench
SHARE := bin/share
LINT := .tools/golangci-lint
VERSION ?= $(shell scripts/version.sh)
LDFLAGS = -s -w -X github.com/scalebench/scalebench/internal/cli.version=$(VERSION)
# How long one fuzz target runs, and which benchmarks.
FUZZTIME ?= 20s
BENCH ?= .

empty :=
space := $(empty) $(empty)

.PHONY: build all share install uninstall packages test-packages demo test test-long check fmt format vet cross lint tidy layers race race-commands bench fuzz deps lab-proof servicelevel-proof variability-proof tables-proof changes-proof doubt-proof load-proof hidden-proof scaleout-proof items-proof bench-items chaos ntier-proof ntier-proof-users ntier-proof-board ntier-proof-sim ntier-proof-truth ntier-proof-whole ntier-proof-real bench-load bench-users bench-analysis clean FORCE

build: $(BIN)

$(BIN): FORCE
	@$(GO) version >/dev/null || { echo "scalebench needs Go 1.26 or newer: https://go.dev/dl" >&2; exit 1; }
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $@ ./cmd/scalebench

# What `make install` installs, which needs no Go then: make all, and with the
# rights that PREFIX takes, make install.
all: build share

# Man pages and the completion of shells, made from the commands.
share: export SOURCE_DATE_EPOCH ?= $(shell scripts/version.sh date)
share:
	rm -rf $(SHARE)
	$(GO) run ./cmd/sharefiles '$(VERSION)' $(SHARE)

# PREFIX (/usr/local), DESTDIR and SYSCONFDIR (/etc) say where.
install uninstall:
	scripts/install.sh $@

# .deb, .rpm and container images of this VERSION in dist/; needs no daemon.
packages:
	VERSION='$(VERSION)' scripts/package.sh

# Packages and images, installed, started, upgraded and removed in clean root
# file systems: root, Debian packages, and some minutes.
test-packages:
	scripts/test-packages.sh

demo: build
	$(BIN) demo

# Packages that measure are tested one at a time (-p 1): they need the machine
# for themselves, and a neighbour's load would become their result. For the
# same reason no old result is taken from the cache (-count=1). The others come
# before, four at a time, because they mostly wait; those that take longest are first. The
# build is first because it compiles on all cores. Vet is for make check (-vet=off).
# Workloads wait for what they measure, which limits of their own hold back, so that two at a
# time do not disturb each other; the walk through the documents runs beside them. Tests of
# these and of measuring packages that are parallel wait, too: six at a time. Up to three tests
# of a group that fail are repeated alone, once; both results are printed.
LONGEST := test/e2e internal/store/postgres
MEASURING := internal/board internal/lab internal/monitor internal/tiers internal/load internal/load/http1 internal/load/httpstd test/measured test/loadserver test/peers test/servers
WORKLOADS := test/walk internal/workload
alternatives = ($(subst $(space),|,$(strip $(1))))
test: deps
	$(GO) build ./...
	GO='$(GO)' scripts/test-measuring.sh -p 4 -timeout 10m $(addprefix ./,$(LONGEST)) $$($(GO) list ./... | grep -vE '/$(call alternatives,$(LONGEST) $(MEASURING))$$|/$(call alternatives,$(WORKLOADS))')
	GO='$(GO)' scripts/test-measuring.sh -p 2 -parallel 6 -timeout 10m $(addprefix ./,$(WORKLOADS:=/...))
	GO='$(GO)' scripts/test-measuring.sh -p 1 -parallel 6 -timeout 10m $(addprefix ./,$(MEASURING))

# What make test leaves out, because others of its kind stand for it there: tests say so
# themselves (skip.UnlessLong). A quarter of an hour.
LONGTESTS = grep -rB1 --include='*_test.go' 'skip\.UnlessLong(t)' internal test
test-long: deps
	LONG=1 $(GO) test -count=1 -tags proof -p 1 -timeout 60m -run "^($$($(LONGTESTS) | sed -n 's/.*func \(Test[A-Za-z0-9]*\)(.*/\1/p' | paste -sd '|'))\$$" \
		$$($(LONGTESTS) -l | xargs -n1 dirname | sort -u | sed 's,^,./,')

# Proofs show at length what the tests show in short: systems with a known answer, measured
# by the dozen, with the machine for themselves. Each runs for PROOF_MINUTES; what is finished
# is kept in PROOF_KEEP, by version and proof, and the same command goes on with what is left
# (scripts/proof.sh). Most are in test/proof, which has a build tag of its own.
PROOF_MINUTES ?= 60
PROOF_KEEP ?= $(CURDIR)/.cache/proof/$(VERSION)$(if $(findstring dirty,$(VERSION)),.$(shell git diff HEAD | cksum | cut -d' ' -f1))
PROOF = GO='$(GO)' PROOF_MINUTES=$(PROOF_MINUTES) PROOF_KEEP='$(PROOF_KEEP)/$@' scripts/proof.sh

# What variability finds in 200 synthetic campaigns of each composition, and how
# often it raises false alarms; some minutes. `make test` takes 4 of each.
variability-proof:
	$(PROOF) ./test/truth/synthetic -seeds 200

# Tables as people have them: dialects of CSV drawn at random beside pandas, and Parquet
# files that pyarrow, polars, DuckDB and pandas write beside pyarrow. TABLES: how many
# of each. Some minutes.
TABLES ?= 1000
tables-proof: build
	scripts/analysts.sh
	.cache/analysts/bin/python test/otherfiles/dialects.py $(CURDIR)/$(BIN) --tables $(TABLES)
	$(PROOF) -run 'TestFilesOfOthers' ./test/otherfiles -args -parquet-files $(TABLES) -parquet-seed $(SEED) -python $(CURDIR)/.cache/analysts/bin/python

# Changes of level in 200 drawn series and in real ones, beside E-divisive and Otava: an
# hour, as Otava is slow.
changes-proof:
	scripts/otava.sh
	OTAVA=$(CURDIR)/.cache/otava $(PROOF) -run '^TestChangesBeside$$' ./test/analysis

# The whole proof that labs measure what their limits say, in tables; needs
# root, and an hour and a half. A part of it is in `make test`.
lab-proof: deps
	scripts/spark.sh
	scripts/apt-install.sh maven openjdk-17-jdk-headless
	scripts/cassandra.sh
	$(PROOF) -run 'TestLabProof|TestVarianceCampaign|TestDemo|TestLabLimit|TestPlanPredicts|TestRandomLabs|TestLabSpark|TestLabCassandra|TestServiceLevels' ./test/proof

# Volumes with limits drawn at random: measured levels, pressures under loads of set rates,
# limits that change while watch looks, and what raising a limit brings; root, an hour.
servicelevel-proof: deps
	$(PROOF) -run 'TestServiceLevels|TestPressureOfVolumes' ./test/proof

# That verdicts are right where something else takes half a processor while all
# nodes work, where nothing does, and where hosts have small quotas: 30 labs of
# each, an hour and a half. DOUBT_KINDS= takes some of them.
DOUBT_KINDS ?= stranger,quiet,quota
doubt-proof: deps
	$(PROOF) -run 'TestStranger$$' ./test/proof -args -doubt-kinds $(DOUBT_KINDS)

# The same for searches: servers whose capacity is known, or set.
load-proof: deps
	scripts/apt-install.sh maven openjdk-17-jre-headless wrk hey apache2
	scripts/cassandra.sh
	LOAD_PROOF=1 $(PROOF) -run 'TestStore|TestQueues|TestStallEvery|TestSlowForSome|TestFailuresExact|TestCapacity|TestLabCapacity|TestStarvedGenerator|TestLabPath|TestLabStarvedOne' \
		./internal/load/cassandra ./internal/load/http1 ./test/proof

# Of these the servers of hidden capacity alone, drawn anew from another SEED:
# three quarters of an hour for forty. The machine must have nothing else to do.
HIDDEN ?= 40
SEED ?= 1
hidden-proof: deps
	$(PROOF) -run 'TestCapacityHidden$$' ./test/proof -args -hidden $(HIDDEN) -hidden-seed $(SEED)

# Fleets that transcode videos in labs drawn at random: what larger fleets do is predicted
# before they run, and what ends their growth is named. SCALEOUT: labs with a slow link of
# the store, and half as many of each other kind; two hours for twenty. Root.
SCALEOUT ?= 20
scaleout-proof: deps
	$(PROOF) -run 'TestScaleout$$' ./test/proof -args -scaleout-labs $(SCALEOUT) -scaleout-seed $(SEED)

# Items of a queue under 200 kills of tasks, agents and servers: each has one record.
items-proof: deps
	$(PROOF) -run 'TestItems$$' ./test/proof

# The queue of items beside JetStream's work queue: items a second of 10,000 workers.
bench-items:
	$(GO) test -run '^$$' -bench ItemQueue -benchtime 1x ./test/peers

# Faults at random moments: kills, stops, cuts and full disks, for agents,
# server, store, commands and tasks, half of them with each store; half an hour
# for a thousand. A few are in `make test`. SEED repeats one.
FAULTS ?= 1000
chaos: deps
	$(PROOF) -run 'TestChaos$$' ./test/e2e -args -chaos $$(($(FAULTS) / 2)) -chaos-seed $(SEED)

# Which tier binds. Root, three hours for all of them; users and sim take no root.
ntier-proof:
	PROOF_UNTIL=$$(($$(date +%s) + 60 * $(PROOF_MINUTES))) $(MAKE) -k $(addprefix ntier-proof-,users board sim truth whole real)

# Sessions of users, think times and the laws of closed loops, in long forms, and 10,000
# users from one processor: 3 minutes.
ntier-proof-users:
	NTIER_PROOF=1 $(PROOF) -run 'TestStationary|TestMixes|TestThink|TestClosedLoop|TestManyUsers' ./internal/load/session ./internal/workload/users

# The built-in application over Spider and Galera, probes of Tomcat: 2 minutes.
ntier-proof-board: deps
	scripts/ntier-deps.sh
	NTIER_PROOF=1 $(PROOF) ./internal/board ./internal/probe

# 200 simulated systems of each kind: 20 minutes.
ntier-proof-sim:
	$(PROOF) -run 'TestTruth|TestProof|Knee|HiddenLock' ./test/truth/tiersim -systems 200 -networks 4000

# Tiers of the built-in application, limited at random in a lab: 1 h 50 min.
# NTIER_ROUNDS: how many systems of each of six kinds.
NTIER_ROUNDS ?= 5
ntier-proof-truth: deps
	$(PROOF) -run 'TestNtierTruth|TestNtierProof|TestNtierAddedHost' ./test/proof -args -ntier-rounds $(NTIER_ROUNDS)

# An experiment of 72 trials that is killed and resumed: 12 minutes.
ntier-proof-whole: deps
	$(PROOF) -run 'TestNtierWhole' ./test/proof

# HAProxy or Apache, Tomcat and MariaDB; data tiers that are replicated or partitioned,
# on fast and on slow links: 25 minutes.
ntier-proof-real: deps
	scripts/ntier-deps.sh
	$(PROOF) -run 'TestNtierReal|TestNtierData' ./test/proof

# The load engine beside wrk, hey and k6: a table on standard output. Needs two
# cores for itself and, to record packets, root. ROUNDS and WINDOW: how often,
# and for how long, each is asked for each load. ONLY: which, with commas.
ROUNDS ?= 3
WINDOW ?= 10s
bench-load: build
	scripts/peers.sh
	mkdir -p .cache
	$(GO) test -c -o .cache/peers.test ./test/peers
	cd test/peers && PATH="$(CURDIR)/bin:$(CURDIR)/.tools:$$PATH" $(CURDIR)/.cache/peers.test \
		-test.run '^TestContest$$' -bench-load -rounds $(ROUNDS) -window $(WINDOW) -only '$(ONLY)' | sed '/^PASS$$/d'

# The workload users beside k6, both with as many users who think for 7 s: a table
# on standard output. k6 needs some gigabytes of memory for 10,000.
USERS ?= 1000,10000
bench-users: build
	scripts/peers.sh
	mkdir -p .cache
	$(GO) test -c -o .cache/peers.test ./test/peers
	cd test/peers && PATH="$(CURDIR)/bin:$(CURDIR)/.tools:$$PATH" $(CURDIR)/.cache/peers.test \
		-test.run '^TestUsers$$' -bench-users '$(USERS)' -window 30s | sed '/^PASS$$/d'

# Reading tables of ten million rows beside pandas and polars: a table on
# standard output. Needs 4 GB of memory and of disk. ANALYSIS_ROUNDS: how often
# each is asked.
ANALYSIS_ROUNDS ?= 5
bench-analysis: build
	scripts/analysts.sh
	$(GO) test -c -o .cache/analysis.test ./test/analysis
	cd test/analysis && PATH="$(CURDIR)/bin:$$PATH" $(CURDIR)/.cache/analysis.test -test.run '^TestContest$$' -test.timeout 2h \
		-bench-analysis -rounds $(ANALYSIS_ROUNDS) -dir $(CURDIR)/.cache -python $(CURDIR)/.cache/analysts/bin/python | sed '/^PASS$$/d'

deps:
	@scripts/deps.sh

# What CI runs before the tests; cheap checks first.
check: format tidy layers vet lint cross race

format:
	@files=$$(gofmt -l cmd internal test); \
	if [ -n "$$files" ]; then echo "not formatted; run make fmt:" >&2; echo "$$files" >&2; exit 1; fi

tidy:
	$(GO) mod tidy -diff
	$(GO) mod verify
	cd tools && $(GO) mod verify
	cd packaging && $(GO) mod verify

layers:
	$(GO) test -count=1 ./test/layers

vet:
	$(GO) vet -tags proof ./...

# Linux on both processors is the platform; macOS must compile.
cross:
	cd tools && $(GO) run ./platforms .. darwin/arm64 linux/arm64

# The language of pages, messages and code first: it takes a second.
lint: $(LINT)
	$(GO) test -count=1 ./test/language
	$(LINT) run --build-tags proof ./...

$(LINT): tools/go.mod tools/go.sum
	cd tools && $(GO) build -trimpath -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# The race detector looks at packages that start goroutines, and at data stores,
# whose suite does; in the others there is nothing for it to find. Tests mostly
# wait, so four packages are tested at a time, whatever the processors. SQLite
# is C translated to Go, without goroutines: watching it would double the time.
RACING = $$(grep -rlE --include='*.go' '^[[:space:]]*go (func|[[:alnum:]_.]+\()|\.Go\(|kvtest\.Run' internal test | xargs -n1 dirname | sort -u | grep -vE '^(internal/(stats|cli)|test/(e2e|measured|proof))$$' | grep -E '$(RACE)' | sed 's,^,./,')
# Tests leave themselves out where there is nothing to find (skip.IfShort). Of the
# statistics only sums of parts are raced, in a line of their own; whole programs by
# race-commands.
# RACE, a regular expression, chooses packages.
RACE ?= .
race: deps
	# End-to-end tests start many processes; by default each would sleep for a
	# second at its end to let others report.
	GORACE=atexit_sleep_ms=20 CGO_ENABLED=1 $(GO) test -race -short -p 4 -timeout 10m -gcflags='modernc.org/...=-race=0' $(RACING)
	CGO_ENABLED=1 $(GO) test -race -run InParts ./internal/stats

# The same for whole programs, end to end: server, agents and commands, each built
# with the detector. Some minutes.
race-commands: deps
	GORACE=atexit_sleep_ms=20 CGO_ENABLED=1 $(GO) test -race -short -timeout 20m -gcflags='modernc.org/...=-race=0' ./test/e2e ./internal/cli

fmt: $(LINT)
	$(LINT) fmt ./...

bench: deps
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -p 1 -timeout 30m ./...

# Every fuzz target there is, one after another: go can fuzz one at a time.
fuzz:
	@grep -ro --include='*_test.go' --exclude-dir=testdata -H '^func Fuzz[A-Za-z0-9_]*' cmd internal test | \
	while IFS=: read -r file func; do \
		target="$${func#func }"; \
		echo "== $$target ($${file%/*})"; \
		$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "./$${file%/*}"; \
	done

clean:
	rm -rf bin dist .tools .cache
