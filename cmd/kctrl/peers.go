package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// peerCommands are hints for commands of kubebuilder, controller-gen and setup-envtest that kctrl does not have. A
// command on the command line may have arguments, such as "rbac:roleName=manager-role".
var peerCommands = map[string]string{
	"alpha": "kctrl has no alpha commands: kctrl upgrade updates the files of kctrl",

	"applyconfiguration": genHint, "crd": genHint, "object": genHint, "rbac": genHint, "schemapatch": genHint,
	"webhook": genHint, "paths": genHint, "output": genHint,

	"use": "kctrl env build compiles the API server, and kctrl env up starts it",
}

// genHint is the hint for arguments of controller-gen.
const genHint = "use kctrl gen with the arguments of controller-gen, such as kctrl gen object paths=./..."

// noBranches is the hint for flags that control git branches and commits.
const noBranches = "remove the flag: kctrl upgrade only changes the working tree; use git for branches and commits"

// peerFlags are hints for kubebuilder's flags that kctrl does not have. A key can begin with the path of a command.
var peerFlags = map[string]string{
	"component-config":      "remove --component-config: the manager always reads flags, environment and file",
	"fetch-deps":            "remove --fetch-deps: kctrl writes complete go.mod and go.sum files",
	"make":                  "remove --make: kctrl always generates",
	"plugins":               "remove --plugins: kctrl has no plugins",
	"project-version":       "remove --project-version: PROJECT has one version",
	"skip-go-version-check": "remove --skip-go-version-check: kctrl has no such check",

	"create api plugins": "remove --plugins; instead of deploy-image, use kctrl create api --from deployment --image " +
		"IMAGE",
	"manifests": "remove --manifests: kctrl always generates",

	"create api status": "remove --status; to drop the status, delete its fields and the marker " +
		"+kubebuilder:subresource:status",

	"upgrade from-version":     "remove --from-version: PROJECT.lock and git have the base",
	"upgrade to-version":       "remove --to-version: kctrl upgrade uses the version of its binary",
	"upgrade from-branch":      noBranches,
	"upgrade output-branch":    noBranches,
	"upgrade restore-path":     noBranches,
	"upgrade show-commits":     noBranches,
	"upgrade push":             noBranches,
	"upgrade open-gh-issue":    noBranches,
	"upgrade merge-message":    noBranches,
	"upgrade git-config":       noBranches,
	"upgrade conflict-message": noBranches,
	"upgrade force":            "remove --force: kctrl upgrade always writes conflicts with git's markers",

	"image-container-command": "edit the container in the controller of --from deployment",
	"image-container-port":    "use --port, with --from deployment",
	"run-as-user":             "edit the container in the controller of --from deployment",
	"license-file":            "use --license none, and write the text to hack/boilerplate.go.txt afterwards",
	"ssa": "remove --ssa, and add +kubebuilder:ac:generate=true to the package for apply " +
		"configurations",
}

// peerFlag returns the hint for a kubebuilder flag. A hint for the command takes precedence over a general one.
func peerFlag(cmd *cobra.Command, name string) (hint string, known bool) {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	if hint, known = peerFlags[path+" "+name]; known {
		return hint, true
	}
	hint, known = peerFlags[name]
	return hint, known
}

// peerCommand returns the hint for a command of another tool.
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
