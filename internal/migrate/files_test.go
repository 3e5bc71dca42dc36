package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

func TestMakefilesCallKctrlInPlaceOfControllerGen(t *testing.T) {
	const header = "# kctrl generates code and manifests, and starts API servers for tests.\n" +
		"KCTRL ?= kctrl\nexport KCTRL\n\n"
	for name, test := range map[string]struct{ before, after string }{
		"by its variable": {
			"manifests: controller-gen fmt ## CRDs.\n\t$(CONTROLLER_GEN) crd paths=\"./...\"\n",
			header + "manifests: fmt ## CRDs.\n\t$(KCTRL) gen crd paths=\"./...\"\n",
		},
		"on several lines": {
			"generate: $(CONTROLLER_GEN)\n\t@\"${CONTROLLER_GEN}\" object \\\n\t\tpaths=./...\n",
			header + "generate:\n\t@$(KCTRL) gen object \\\n\t\tpaths=./...\n",
		},
		"by go run": {
			"gen:\n\tcd api && go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.17.0 object paths=./...\n",
			header + "gen:\n\tcd api && $(KCTRL) gen object paths=./...\n",
		},
		"by go tool": {
			"gen:\n\tgo tool controller-gen object paths=./...\n", header + "gen:\n\t$(KCTRL) gen object paths=./...\n",
		},
		"by its path": {
			"gen:\n\t$(LOCALBIN)/controller-gen crd paths=./...\n", header + "gen:\n\t$(KCTRL) gen crd paths=./...\n",
		},
		"only installed": {
			"controller-gen: $(CONTROLLER_GEN)\n$(CONTROLLER_GEN):\n" +
				"\ttest -s $(CONTROLLER_GEN) || go install controller-gen\n",
			"",
		},
		"twice": {header + "gen:\n\t$(KCTRL) gen crd paths=./...\n", ""},
		"a version of setup-envtest from go.mod": {
			"ENVTEST_VERSION ?= $(shell v='$(call gomodver,sigs.k8s.io/controller-runtime)'; \\\n  echo $$v)\n",
			"ENVTEST_VERSION ?= v0.24.1\n\n" +
				"ENVTEST_VERSION ?= $(shell v='$(call gomodver,sigs.k8s.io/controller-runtime)'; \\\n  echo $$v)\n",
		},
	} {
		if test.after == "" {
			test.after = test.before
		}
		got := makefile(test.before, "v0.24.1")
		if diff := cmp.Diff(test.after, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if again := makefile(got, "v0.24.1"); again != got {
			t.Errorf("%s: a second run changes it: %s", name, cmp.Diff(got, again))
		}
	}
}

func TestDockerfilesCopyThirdParty(t *testing.T) {
	for name, test := range map[string]struct{ before, after string }{
		"before the download": {
			"FROM golang:1.24 AS builder\nCOPY go.mod go.sum ./\nRUN go mod download\n",
			"FROM golang:1.26 AS builder\nCOPY go.mod go.sum ./\nCOPY third_party/ third_party/\nRUN go mod download\n",
		},
		"with everything": {"FROM golang:1.26\nCOPY . .\nRUN go build ./...\n", ""},
		"without go.mod":  {"FROM golang:1.27\nRUN go build ./...\n", ""},
		"already":         {"FROM golang:1.26\nCOPY go.mod .\nCOPY third_party/ x/\nRUN go mod download\n", ""},
		"another image":   {"ARG IMAGE=golang:latest\nFROM $IMAGE\n", ""},
	} {
		if test.after == "" {
			test.after = test.before
		}
		if diff := cmp.Diff(test.after, dockerfile(test.before, "1.26.0")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWorkflowsInstallTheVersionOfKctrl(t *testing.T) {
	const before = "jobs:\n  test:\n    steps:\n      - uses: checkout\n\n" +
		"      - run: |\n          go mod tidy\n          make test\n" +
		"  lint:\n    steps:\n      - run: golangci-lint\n"
	for version, want := range map[string]string{"v1.2.3": "v1.2.3", "(devel)": "${{ vars.KCTRL_VERSION }}"} {
		a := &adoption{plan: plan.New(afero.NewIOFS(afero.NewMemMapFs())), kctrl: project.Build{Version: version}}
		after := strings.Replace(before, "      - run: |", "      - name: Install kctrl\n"+
			"        run: go install github.com/kctrl-dev/kctrl/cmd/kctrl@"+want+"\n\n      - run: |", 1)
		if diff := cmp.Diff(after, a.workflow(before)); diff != "" {
			t.Errorf("%s: %s", version, diff)
		}
		if again := a.workflow(after); again != after {
			t.Errorf("%s: a second run changes it", version)
		}
		if notes := len(a.plan.Notes()); (notes == 1) != (version == "(devel)") {
			t.Errorf("%s: %d notes", version, notes)
		}
	}
}
