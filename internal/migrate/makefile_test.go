package migrate

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// TestMakefiles edits Makefiles as kubebuilder and operator-sdk have written them over the years, and as operators have them.
func TestMakefiles(t *testing.T) {
	for name, test := range map[string]struct {
		before, after string
		keepRuntime   bool
	}{
		"variables in a conditional below the rule": {
			before: `CRD_OPTIONS ?= "crd:trivialVersions=true,preserveUnknownFields=false"

manifests: controller-gen
	$(CONTROLLER_GEN) $(CRD_OPTIONS) rbac:roleName=manager-role webhook paths="./..."

# find or download controller-gen
controller-gen:
ifeq (, $(shell which controller-gen))
	@{ \
	set -e ;\
	go get sigs.k8s.io/controller-tools/cmd/controller-gen@v0.2.5 ;\
	}
CONTROLLER_GEN=$(GOBIN)/controller-gen
else
CONTROLLER_GEN=$(shell which controller-gen)
endif

kustomize:
ifeq (, $(shell which kustomize))
	@echo none
endif
`,
			after: `CRD_OPTIONS ?= "crd"

manifests:
	$(KCTRL) gen $(CRD_OPTIONS) rbac:roleName=manager-role webhook paths="./..."

KCTRL ?= kctrl

kustomize:
ifeq (, $(shell which kustomize))
	@echo none
endif
`,
		},
		"a function that downloads": {
			before: `CONTROLLER_GEN = $(shell pwd)/bin/controller-gen
.PHONY: controller-gen
controller-gen: ## Download controller-gen locally if necessary.
	$(call go-get-tool,$(CONTROLLER_GEN),sigs.k8s.io/controller-tools/cmd/controller-gen@v0.7.0)

# go-get-tool will 'go get' any package $2 and install it to $1.
define go-get-tool
@[ -f $(1) ] || { \
set -e ;\
echo "Downloading $(2): now" ;\
}
endef

generate: controller-gen ## Deep copies: all of them.
	$(CONTROLLER_GEN) object paths="./..."
`,
			after: `KCTRL ?= kctrl

# go-get-tool will 'go get' any package $2 and install it to $1.
define go-get-tool
@[ -f $(1) ] || { \
set -e ;\
echo "Downloading $(2): now" ;\
}
endef

generate: ## Deep copies: all of them.
	$(KCTRL) gen object paths="./..."
`,
		},
		"variables that something else needs": {
			before: `CONTROLLER_IMG ?= controller:latest
ENVTEST_K8S_VERSION = 1.26.1
ENVTEST ?= bin/setup-envtest

kind:
	kind create cluster --image kindest/node:v$(ENVTEST_K8S_VERSION)

test: manifests envtest
	@CGO_ENABLED=0 KUBEBUILDER_ASSETS="$(shell $(ENVTEST) use $(ENVTEST_K8S_VERSION) -p path)" go test ./...
`,
			after: `CONTROLLER_IMG ?= controller:latest
ENVTEST_K8S_VERSION = 1.26.1

kind:
	kind create cluster --image kindest/node:v$(ENVTEST_K8S_VERSION)

test: manifests
	@CGO_ENABLED=0 go test ./...
`,
		},
		"assets on a line of their own": {
			before: "test: setup-envtest\n\tKUBEBUILDER_ASSETS=\"$$($(ENVTEST) use 1.30 -p path)\" \\\n\tgo test ./...\n",
			after:  "test:\n\tgo test ./...\n",
		},
		"several tools, and a tool that is called by its path": {
			before: `.PHONY: tools controller-gen kustomize
tools: kustomize \
	controller-gen \
	golangci-lint
	@bin/controller-gen object paths=./... # all
	cd api && go tool controller-gen object paths=./...
	go run sigs.k8s.io/controller-tools/cmd/controller-gen crd paths=./...
`,
			after: `KCTRL ?= kctrl

.PHONY: tools kustomize
tools: kustomize \
	golangci-lint
	@$(KCTRL) gen object paths=./... # all
	cd api && $(KCTRL) gen object paths=./...
	$(KCTRL) gen crd paths=./...
`,
		},
		"targets with variables of their own": {
			before: "CONTROLLER_GEN := $(BIN)/controller-gen-$(CONTROLLER_GEN_VERSION)\n$(CONTROLLER_GEN): | $(BIN)\n\t$(info a)\n\tcurl -o $(CONTROLLER_GEN)\n\nmanifests: CRD = a.yaml\nmanifests: $(CONTROLLER_GEN) $(YQ) ## All: of it.\n\t$(CONTROLLER_GEN) crd paths=\"./...\"\n",
			after:  "KCTRL ?= kctrl\n\nmanifests: CRD = a.yaml\nmanifests: $(YQ) ## All: of it.\n\t$(KCTRL) gen crd paths=\"./...\"\n",
		},
		"lines that end as on Windows": {
			before: "CONTROLLER_GEN ?= bin/controller-gen\r\nmanifests: controller-gen\r\n\t$(CONTROLLER_GEN) crd paths=./...\r\n",
			after:  "KCTRL ?= kctrl\r\nmanifests:\r\n\t$(KCTRL) gen crd paths=./...\r\n",
		},
		"a runtime that is kept": {
			keepRuntime: true,
			before: `CONTROLLER_GEN ?= bin/controller-gen
ENVTEST ?= bin/setup-envtest
manifests: controller-gen
	$(CONTROLLER_GEN) crd paths=./...
test: envtest
	KUBEBUILDER_ASSETS="$(shell $(ENVTEST) use -p path)" go test ./...
envtest:
	go install sigs.k8s.io/controller-runtime/tools/setup-envtest@latest
`,
			after: `KCTRL ?= kctrl
ENVTEST ?= bin/setup-envtest
manifests:
	$(KCTRL) gen crd paths=./...
test: envtest
	KUBEBUILDER_ASSETS="$(shell $(ENVTEST) use -p path)" go test ./...
envtest:
	go install sigs.k8s.io/controller-runtime/tools/setup-envtest@latest
`,
		},
		"one without tools": {
			before: "# controller-gen is not here\nall: ; echo a:b # c\n\n\n\techo no recipe\n.DEFAULT_GOAL := all\nexport A := b:c\n",
			after:  "# controller-gen is not here\nall: ; echo a:b # c\n\n\n\techo no recipe\n.DEFAULT_GOAL := all\nexport A := b:c\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := editMakefile(t, test.before, test.keepRuntime)
			if diff := cmp.Diff(test.after, got); diff != "" {
				t.Error(diff)
			}
			if again := editMakefile(t, got, test.keepRuntime); again != got {
				t.Errorf("a second time it becomes\n%s", again)
			}
		})
	}
}

func editMakefile(t *testing.T, text string, keepRuntime bool) string {
	t.Helper()
	m := &migration{plan: plan.New(fstest.MapFS{"Makefile": {Data: []byte(text)}}), peer: &peer{}, opts: Options{KeepRuntime: keepRuntime}, report: &Report{}}
	if err := m.editMakefiles(); err != nil {
		t.Fatal(err)
	}
	after, err := m.plan.Read("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	return string(after)
}

// TestMakefilesThatAreIncluded has the variable in one file and the calls in others.
func TestMakefilesThatAreIncluded(t *testing.T) {
	files := fstest.MapFS{
		"Makefile":               {Data: []byte("include make/*.mk\n")},
		"make/deps.mk":           {Data: []byte("CONTROLLER_GEN ?= a\nENVTEST ?= b\nKUBEBUILDER_ASSETS ?= \"$(shell $(ENVTEST) use)\"\ncontroller-gen: $(CONTROLLER_GEN)\n")},
		"make/gen.mk":            {Data: []byte("code: controller-gen\n\t$(CONTROLLER_GEN) object paths=./...\n")},
		"third_party/a/Makefile": {Data: []byte("CONTROLLER_GEN ?= a\n")},
	}
	m := &migration{plan: plan.New(files), peer: &peer{}, report: &Report{}}
	if err := m.editMakefiles(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Makefile":               "include make/*.mk\n",
		"make/deps.mk":           "KCTRL ?= kctrl\n",
		"make/gen.mk":            "code:\n\t$(KCTRL) gen object paths=./...\n",
		"third_party/a/Makefile": "CONTROLLER_GEN ?= a\n",
	} {
		if got, err := m.plan.Read(name); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v, want %q", name, got, err, want)
		}
	}
}

// FuzzMakefiles edits any text: nothing of a Makefile without tools changes, and what was edited once stays.
func FuzzMakefiles(f *testing.F) {
	f.Add("a: b\n\tc \\\n\td\nifeq (a,b)\nC=d\nendif\n")
	f.Add("controller-gen:\nifdef A\n\techo\nCONTROLLER_GEN=a\nelse\nendif\nendif\n")
	f.Add("define a\ndefine b\nendef\nx: y\nendef\n: \n\t$(CONTROLLER_GEN) paths= crd:trivialVersions=x\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		if !fs.ValidPath("Makefile") || strings.ContainsRune(text, 0) {
			return
		}
		once := editMakefile(t, text, false)
		if twice := editMakefile(t, once, false); twice != once {
			t.Errorf("%q becomes %q, and then %q", text, once, twice)
		}
		if !strings.Contains(strings.ToLower(text), "gen") && !strings.Contains(strings.ToLower(text), "envtest") && !strings.Contains(text, "KUBEBUILDER") && !strings.Contains(text, "Versions=") &&
			!strings.Contains(text, "Fields=") && once != text {
			t.Errorf("%q becomes %q", text, once)
		}
	})
}
