package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// peerCommands are commands of kubebuilder, controller-gen and setup-envtest that kctrl does not have by that name,
// each with what to do instead. The first word may be followed by arguments of its own: "rbac:roleName=manager-role".
var peerCommands = map[string]string{
	"alpha": "kctrl has no alpha commands: kctrl upgrade keeps up to date what kctrl has written",

	"applyconfiguration": genHint, "crd": genHint, "object": genHint, "rbac": genHint, "schemapatch": genHint,
	"webhook": genHint,
	"paths":   genHint, "output": genHint,

	"use": "kctrl env build compiles the API server, and kctrl env up starts it",
}

// genHint is for what controller-gen takes: its arguments are those of kctrl gen.
const genHint = "controller-gen's arguments are those of kctrl gen, as in kctrl gen object paths=./..."

// noBranches is for flags about branches and commits.
const noBranches = "leave it out: kctrl upgrade changes the working tree, as other commands do, and git does the rest"

// peerFlags are flags of kubebuilder that kctrl does not have, each with what to do instead.
var peerFlags = map[string]string{
	"component-config":      "leave --component-config out: the manager reads flags, environment and file as it is",
	"fetch-deps":            "leave --fetch-deps out: go.mod and go.sum are written complete",
	"make":                  "leave --make out: what follows from markers is generated at once",
	"plugins":               "leave --plugins out: kctrl has no plugins",
	"project-version":       "leave --project-version out: there is one version of PROJECT",
	"skip-go-version-check": "remove --skip-go-version-check: kctrl has no such check",

	"create api plugins": "leave --plugins out; what deploy-image makes is kctrl create api --from deployment --image " +
		"IMAGE",
	"manifests": "leave --manifests out: what follows from markers is generated at once",

	"create api status": "leave --status out; what is not to have a status loses its marker " +
		"+kubebuilder:subresource:status, and the fields of its status, by hand",

	"upgrade from-version":     "remove --from-version: PROJECT.lock and git have the base",
	"upgrade to-version":       "leave --to-version out: it is the version of the binary that is run",
	"upgrade from-branch":      noBranches,
	"upgrade output-branch":    noBranches,
	"upgrade restore-path":     noBranches,
	"upgrade show-commits":     noBranches,
	"upgrade push":             noBranches,
	"upgrade open-gh-issue":    noBranches,
	"upgrade merge-message":    noBranches,
	"upgrade git-config":       noBranches,
	"upgrade conflict-message": noBranches,
	"upgrade force":            "leave --force out: conflicts are written between the markers of git as it is",

	"image-container-command": "write it into the container, in the controller that --from deployment makes",
	"image-container-port":    "use --port, with --from deployment",
	"run-as-user":             "write it into the container, in the controller that --from deployment makes",
	"license-file":            "use --license none, and write the text into hack/boilerplate.go.txt afterwards",
	"ssa": "leave --ssa out, and write +kubebuilder:ac:generate=true into the package: kctrl " +
		"generate then writes apply configurations",
}

// peerFlag has hints for flags of kubebuilder: of one command, or of any.
func peerFlag(cmd *cobra.Command, name string) (hint string, known bool) {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	if hint, known = peerFlags[path+" "+name]; known {
		return hint, true
	}
	hint, known = peerFlags[name]
	return hint, known
}

// peerCommand has hints for commands of other tools.
func peerCommand(cmd *cobra.Command, name string) (hint string, known bool) {
	first, _, _ := strings.Cut(name, ":")
	first, _, _ = strings.Cut(first, "=")
	_, path, below := strings.Cut(cmd.CommandPath(), " ")
	if below {
		first = path + " " + first
	}
	hint, known = peerCommands[first]
	return hint, known
}
