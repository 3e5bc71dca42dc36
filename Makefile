# Each target consists of commands that you can also type. New contributors need only `make demo` and `make test`.
export KCTRL := $(CURDIR)/bin/kctrl
# The race detector requires a C compiler. Without one, the go command disables cgo.
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)
# make build, the tests, the scripts and scaffolded projects use the same flags, so shared packages are compiled once.
SHARED := CGO_ENABLED=0 GOFLAGS=-trimpath

STATICCHECK := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
DEADCODE := go run golang.org/x/tools/cmd/deadcode@v0.51.0 -filter

.PHONY: build demo test check vet-systems golden bench bench-runtime bench-webhook bench-generation bench-diff corpus postprocess test-large test-faults test-wire test-collector test-examples zoo test-matrix test-controller-runtime test-samples dropin test-porting test-chart test-modules test-skew bench-collector bench-inmemory test-peers fidelity test-all test-costs mutants fuzz site release release-snapshot clean

# Tests compile projects with the same flags, so shared packages are compiled once.
build: ## Build bin/kctrl. With cgo it could load plugins, so the linker would keep unused functions.
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o bin/kctrl ./cmd/kctrl

# A demo needs no debug information and no inlined functions, which saves a quarter of the compile time. Compilers that
# collect no garbage below 1 GiB save another fifth. The real control plane is too large for that: linking takes more.
demo: export GOFLAGS := $(GOFLAGS) -trimpath '-gcflags=all=-dwarf=false -l'
demo: export GOGC := $(if $(filter real,$(SERVER)),400,off)
demo: export GOMEMLIMIT := $(if $(filter real,$(SERVER)),off,1GiB)
demo: build ## Build and run an operator from an empty directory, on an API server in memory; SERVER=real uses a real one.
	CGO_ENABLED=0 go run ./internal/demo # as kctrl is built: what both import is compiled once

test: build ## Run the tests, on the API server in memory and, where it differs, on the real one. CONTRIBUTING.md has the costs.
	go run ./internal/testsuite

test-all: build ## Run every test, on both API servers, with more seeds and for all systems; takes hours. A nightly workflow runs it.
	go run ./internal/testsuite -all

test-costs: build ## Run the tests and write their costs to docs/CONTRIBUTING.md; ALL=1 includes make test-all. A second run continues an interrupted one.
	go run ./internal/testsuite -update
	$(if $(ALL),go run ./internal/testsuite -all -update -resume .test-costs)

check: ## Check formatting, vet, staticcheck and dead code.
	test -z "$$(gofmt -s -l $$(git ls-files '*.go'))"
	$(SHARED) go vet ./...
	$(SHARED) go vet -C examples ./...
	$(SHARED) go vet -C examples/cronjob ./...
	$(SHARED) go vet -C examples/zoo ./...
	$(SHARED) go vet -C compat/controller-runtime ./...
	$(SHARED) $(STATICCHECK) ./...
	cd examples && $(SHARED) $(STATICCHECK) ./...
	cd examples/cronjob && $(SHARED) $(STATICCHECK) ./...
	cd examples/zoo && $(SHARED) $(STATICCHECK) ./...
	dead="$$($(DEADCODE) '/kctrl/(cmd|internal)/' ./cmd/... ./internal/demo ./internal/testsuite ./internal/mutants ./internal/recording)" && echo "$$dead" && test -z "$$dead"
	dead="$$($(DEADCODE) '/kctrl/(runtime/)?internal/' -test ./...)" && echo "$$dead" && test -z "$$dead"

vet-systems: ## Vet for the other systems; takes minutes. make test only checks the types for them.
	GOOS=windows go vet ./...
	GOOS=darwin go vet ./...

golden: build ## Update the expected output of tests: golden projects, scripts, pinned modules.
	go test ./internal/scaffold ./internal/generate/... ./cmd/kctrl -update

bench: build ## Measure whole operators beside controller-runtime; takes an hour. The results are in docs/benchmarks.md.
	go run -C bench ./cmd/footprint -kctrl $(KCTRL)
	go run -C bench ./cmd/operator -kctrl $(KCTRL)

# OBJECTS has the numbers of objects for bench-runtime.
OBJECTS = 5000 50000

bench-runtime: build ## Measure the runtime beside controller-runtime; takes half an hour, or five minutes with OBJECTS=5000. The results are in docs/benchmarks.md.
	cd bench && go test -run '^$$' -bench Ratio -benchtime 200000x ./workqueue
	for objects in $(OBJECTS); do go run -C bench ./cmd/runtime -kctrl $(KCTRL) -objects $$objects || exit 1; done
	go run -C bench ./cmd/replay

bench-webhook: ## Measure webhooks beside controller-runtime; takes ten minutes. The results are in docs/benchmarks.md.
	go run -C bench ./cmd/webhook

bench-generation: build ## Measure kctrl gen beside controller-gen; takes half an hour. The results are in docs/benchmarks.md.
	go run -C bench ./cmd/generation -kctrl $(KCTRL)

CRDIFY ?=
bench-diff: build ## Compare kctrl diff with the clone CRDIFY of crdify on the labeled changes; takes a minute.
	go run -C bench ./cmd/diff -kctrl $(KCTRL) -crdify $(abspath $(CRDIFY))

bench-collector: build ## Measure the memory of the garbage collector beside kube-controller-manager's with 100,000 objects; takes a quarter of an hour.
	go run -C bench ./cmd/garbage -kctrl $(KCTRL)

bench-inmemory: build ## Measure the API server in memory beside the real one and the fake client of controller-runtime; takes minutes.
	go run -C bench ./cmd/inmemory -kctrl $(KCTRL)

KUBEBUILDER ?=
test-peers: build ## Run client-go, a manager of controller-runtime and kubectl, unmodified, on the API server in memory; and, of the clone KUBEBUILDER, the suites of kubebuilder's samples.
	cd bench && go vet ./inmemory ./cmd/kubectl && go test ./inmemory ./cmd/kubectl
	$(if $(KUBEBUILDER),go run -C bench ./cmd/kubebuilder -kctrl $(KCTRL) -checkout $(abspath $(KUBEBUILDER)))

test-samples: build ## Migrate the samples of the clone KUBEBUILDER, run their suites after each step, and undo both; takes a quarter of an hour.
	go run -C bench ./cmd/kubebuilder -kctrl $(KCTRL) -checkout $(abspath $(KUBEBUILDER)) -migrate

test-controller-runtime: build ## Run controller-runtime's own suites, unmodified, on the executables of kctrl env assets, and on the module in compat/: real, and in memory; takes half an hour.
	go run -C bench ./cmd/controllerruntime -kctrl $(KCTRL)

test-porting: build ## Compile both columns of docs/from-controller-runtime.md, and run the three operators that it ports.
	cd bench && go vet ./porting/... && go test ./porting/...

test-modules: build ## Build, vet and test a scaffolded project, and vet the runtime, with the older k8s.io modules that projects may choose; takes minutes. See docs/kubernetes.md.
	go test -timeout 40m -run TestProjectsMayChooseOlderKubernetes -v ./internal/scaffold

test-chart: build ## Render the charts of the golden projects with Helm's library, and compare them with the output of kustomize.
	cd bench && go vet ./chart && go test ./chart

mutants: build ## Measure which of 120 random mutants the tests of make test catch; MUTANTS="-compare old.json" compares two runs.
	go run ./internal/testsuite -skipped >bin/skipped && go run ./internal/mutants -skip bin/skipped $(MUTANTS)

corpus: build ## Compare kctrl gen with controller-gen, byte for byte, on the API packages of well-known operators, and record controller-gen's results for the tests. See docs/corpus.md.
	KCTRL_TEST_ORACLE=record go test -count 1 ./internal/generate ./internal/generate/compat
	go run -C bench ./cmd/corpus -kctrl $(KCTRL)

REPOSITORIES ?= repositories
dropin: build ## Move public operators with kctrl migrate and compile both sides; REPOSITORIES has their clones, as OWNER/NAME. See docs/drop-in.md.
	go run -C bench ./cmd/dropin -kctrl $(KCTRL) -repositories $(abspath $(REPOSITORIES))

postprocess: build ## Compare the output of kctrl.gen.yaml with the output of the scripts of six operators; REPOSITORIES has their clones, as OWNER/NAME. See docs/postprocess.md.
	go run -C bench ./cmd/postprocess -kctrl $(KCTRL) -repositories $(abspath $(REPOSITORIES))

test-large: build ## Test the informer on a real API server with 50,000 changing objects.
	KCTRL_TEST_SERVER=real go test -timeout 40m -run 'TestOnAServerWithManyObjects$$' -v ./runtime/informer

GRAPHS ?= 500
test-collector: build ## Compare the garbage collector with kube-controller-manager's on 500 random ownership graphs; takes minutes.
	KCTRL_TEST_SEEDS=$(GRAPHS) go test -timeout 1h -run 'Collects$$' -v ./runtime/garbagecollector

SEQUENCES ?= 200
test-examples: build ## Compare the Deployment controller of examples/ with kube-controller-manager's in 200 random sequences; takes ten minutes.
	cd examples && KCTRL_TEST_SEEDS=$(SEQUENCES) go test -timeout 1h -run 'ManagerDoes$$' -v ./deployment

zoo: build ## Simulate small operators with known bugs, their fixed twins, and projects; takes minutes. The results are in docs/sim.md.
	$(SHARED) go run -C examples/zoo . -kctrl ../../bin/kctrl

FAULTS ?= 60
PAIRS ?= 60
test-faults: ## Kill and signal every writing command at 60 write steps, and run PAIRS pairs of commands at once; FAULTS=2000 tests every step.
	KCTRL_TEST_SEEDS=$(FAULTS) go test -timeout 3h -run 'TestKilled|TestSignalsEnd|TestASecondSignal' -v ./cmd/kctrl
	KCTRL_TEST_SEEDS=$(PAIRS) go test -timeout 3h -run 'TestSignalsAtAnyTime|TestTwoCommands' -v ./cmd/kctrl

test-wire: ## Truncate lists and watches at every byte, nest values in every place, and decode 100000 random encodings, in every format; takes minutes.
	go test -timeout 40m $(RACE) -run 'EveryByte|EveryPlace' -v ./runtime/internal/wire
	KCTRL_TEST_SEEDS=250 go test -timeout 40m -count 1 -run WhateverTheEncoding -v ./runtime/internal/wire

test-matrix: build ## Create, build and test a project for each choice of layout, scope, webhooks, origin of types and runtime; takes half an hour.
	go test -count 1 -timeout 2h -run 'TestMatrix|TestOperandTestsFindEachDefect' -v ./internal/scaffold

SKEW ?= 1.34 1.37
test-skew: build ## Run the tests that use API servers, and a scaffolded operator, on the oldest and the newest supported Kubernetes. See docs/kubernetes.md.
	for version in $(SKEW); do \
		bin/kctrl env build --kubernetes $$version --controller-manager && \
		export KCTRL_TEST_SERVER=real KCTRL_TEST_KUBERNETES=$$version && \
		go test -count 1 -timeout 40m -skip '^TestAsTheRealControllers$$' $$(go list ./runtime/... ./testserver/fakecontrollers) && \
		go test -count 1 -timeout 10m -run TestScaffoldedTestsPass ./internal/scaffold && \
		go test -C examples/cronjob -count 1 -timeout 10m ./... || exit 1; \
	done

SEEDS ?= 400
fidelity: build ## Compare the API server in memory with the real one, on SEEDS fresh sequences of requests; takes minutes. See docs/fidelity.md.
	KCTRL_TEST_SEEDS=$(SEEDS) go test -timeout 1h -run 'AsTheRealServer$$' -v ./testserver/apiserver

FUZZTIME ?= 1m
fuzz: ## Run every fuzz test for FUZZTIME.
	for pkg in $$(git grep -l '^func Fuzz' -- '*_test.go' | xargs -n1 dirname | sort -u); do \
		for name in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $$pkg/*_test.go); do \
			go test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) ./$$pkg || exit 1; \
		done; \
	done

GORELEASER := go run github.com/goreleaser/goreleaser/v2@v2.15.1
release: ## Build and draft the release of the checked-out tag; needs GITHUB_TOKEN.
	$(GORELEASER) release --clean

release-snapshot: ## Build all files of a release in dist/ without publishing them.
	$(GORELEASER) release --snapshot --clean --skip=publish

site: ## Build docs/ and the Go API as static pages with search in bin/site; needs Node.js and the npm registry.
	go run -C site .
	cd site && npm ci --no-audit --no-fund && npx vitepress build

clean: ## Remove the output of make build.
	rm -rf bin site/source site/node_modules
