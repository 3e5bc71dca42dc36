// Package postprocess describes how operators change their manifests after controller-gen. For each operator it has a
// kctrl.gen.yaml that replaces the scripts, and the output of the scripts.
package postprocess

import "embed"

// Declarations contains the kctrl.gen.yaml of each project, as <name>.yaml.
//
//go:embed *.yaml
var Declarations embed.FS

// Project is a version of an operator.
type Project struct {
	Name string
	// Repository is its owner and name on GitHub.
	Repository, Commit string
	// Paths are the relevant paths of the repository.
	Paths []string
	// Dir is the directory in which its scripts call controller-gen.
	Dir string
	// Args are the arguments of controller-gen.
	Args []string
	// Made are patterns of the committed files that the scripts generate.
	Made []string
	// Newer are patterns of files that controller-gen v0.23.0 generates differently from the version that the project
	// uses.
	Newer []string
}

// Projects are the projects whose scripts kctrl gen replaces.
var Projects = []Project{
	{
		Name: "karpenter", Repository: "kubernetes-sigs/karpenter", Commit: "2266468104f36373ed002241afaee2d3bbc26078",
		Paths: []string{"go.mod", "go.sum", "pkg", "kwok/apis", "kwok/charts"},
		Dir:   "pkg/apis",
		Args:  []string{"crd", "paths=./...", "output:crd:artifacts:config=crds"},
		Made: []string{"pkg/apis/crds/*.yaml", "kwok/charts/crds/karpenter.sh_*.yaml",
			"kwok/charts/crds/autoscaling*.yaml"},
	},
	{
		Name: "ovn-kubernetes", Repository: "ovn-kubernetes/ovn-kubernetes",
		Commit: "8871cd9cec9c45d6da1baf9e3b06eb575f49039c",
		Paths:  []string{"go-controller", ":!go-controller/vendor", "helm"},
		Dir:    "go-controller",
		Args:   []string{"crd:crdVersions=v1", "paths=./pkg/crd/...", "output:crd:dir=_output/crds"},
		Made:   []string{"helm/ovn-kubernetes/crds/k8s.ovn.org_*.yaml"},
		Newer:  []string{"helm/ovn-kubernetes/crds/k8s.ovn.org_vteps.yaml"},
	},
	{
		Name: "argo-rollouts", Repository: "argoproj/argo-rollouts", Commit: "9f8d111d8f8e3e88b6d7f8bbdf62fd3cd863ef9d",
		Paths: []string{"go.mod", "go.sum", "pkg", "utils", "manifests"},
		Args:  []string{"crd:crdVersions=v1", "paths=./pkg/apis/rollouts/..."},
		Made:  []string{"manifests/crds/*-crd.yaml"},
	},
	{
		Name: "tidb-operator", Repository: "pingcap/tidb-operator", Commit: "42684baa3d1c8cb9c4e37e70a96372b096b99a13",
		Paths: []string{"go.mod", "go.sum", "api", "manifests"},
		Args: []string{"crd:generateEmbeddedObjectMeta=true", "paths=./api/...",
			"output:crd:artifacts:config=manifests/crd"},
		Made: []string{"manifests/crd/*.yaml"},
	},
	{
		Name: "cloud-on-k8s", Repository: "elastic/cloud-on-k8s", Commit: "7b93383d8ec1569ba99bdf9e59ad70a813fe99f8",
		Paths: []string{"go.mod", "go.sum", "pkg", "config", "deploy/eck-operator/charts/eck-operator-crds"},
		Args: []string{"crd:crdVersions=v1,generateEmbeddedObjectMeta=true", "paths=./pkg/apis/...",
			"output:crd:artifacts:config=config/crds/v1/resources"},
		Made: []string{"config/crds/v1/all-crds.yaml", "config/crds/v1/resources/*.elastic.co_*.yaml",
			"deploy/eck-operator/charts/eck-operator-crds/templates/all-crds.yaml"},
	},
	{
		Name: "actions-runner-controller", Repository: "actions/actions-runner-controller",
		Commit: "2ee6b3b8e8d2781c2f2bd4f0033fbb436465c5c1",
		Paths:  []string{"."},
		Args: []string{"crd:generateEmbeddedObjectMeta=true,allowDangerousTypes=true", "rbac:roleName=manager-role",
			"webhook", "paths=./...", "output:crd:artifacts:config=config/crd/bases"},
		Made: []string{"config/crd/bases/*.yaml", "charts/*/crds/*.yaml", "config/rbac/role.yaml",
			"config/webhook/manifests.yaml"},
	},
}
