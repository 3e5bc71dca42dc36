package corpus

import (
	"slices"
	"strings"
)

// Projects returns the corpus. The calls are copied from the Makefiles; only output directories differ where a Makefile
// writes to standard output.
func Projects() []Project {
	return slices.Concat(gatewayAPI(), certManager(), clusterAPI(), prometheusOperator(), keda(), contour(), kueue(),
		karpenter(), kyverno())
}

// args splits the arguments of a call at spaces, without support for quotes.
func args(call string) []string { return strings.Fields(call) }

func gatewayAPI() []Project {
	return []Project{{
		Name:      "gateway-api",
		Modules:   []Module{{Path: "sigs.k8s.io/gateway-api", Version: "v1.6.0"}},
		Object:    args("object:headerFile=hack/boilerplate/boilerplate.generatego.txt paths=./apis/... paths=./apisx/..."),
		Manifests: args("crd paths=./apis/... paths=./apisx/... output:crd:artifacts:config=out/crd"),
		More:      [][]string{args("crd:maxDescLen=0 paths=./apis/... output:dir=out/short")},
		Applied:   []string{"apis/v1", "apisx/v1alpha1"},
		Patch: args("schemapatch:manifests=out/crd,maxDescLen=0 paths=./apis/... paths=./apisx/... " +
			"output:dir=out/patched"),
		Edited: Type{"apis/v1/gateway_types.go", "GatewaySpec"},
	}}
}

func certManager() []Project {
	return []Project{{
		Name:    "cert-manager",
		Modules: []Module{{Path: "github.com/cert-manager/cert-manager", Version: "v1.19.1"}},
		Manifests: args("crd paths=./deploy/... paths=./hack/... paths=./internal/... paths=./pkg/... " +
			"paths=./third_party/... output:crd:dir=out/crd"),
		More: [][]string{args("object paths=./pkg/apis/acme/... paths=./pkg/apis/meta/... " +
			"paths=./internal/apis/config/...")},
		Applied: []string{"pkg/apis/certmanager/v1", "pkg/apis/acme/v1"},
		Patch:   args("schemapatch:manifests=out/crd,maxDescLen=0 paths=./pkg/apis/... output:dir=out/patched"),
		Edited:  Type{"pkg/apis/certmanager/v1/types_certificate.go", "CertificateSpec"},
	}}
}

func clusterAPI() []Project {
	const (
		header = "object:headerFile=./hack/scripts/verify/boilerplate/boilerplate.generatego.txt "
		rest   = " crd:crdVersions=v1 rbac:roleName=manager-role webhook"
	)
	modules := []Module{
		{Path: "sigs.k8s.io/cluster-api", Version: "v1.14.2"},
		{Path: "sigs.k8s.io/cluster-api/api", Version: "v1.14.2", Dir: "api"},
	}
	outputs := func(dir string) string {
		return rest + " output:crd:dir=" + dir + "/config/crd/bases output:rbac:dir=" + dir +
			"/config/rbac output:webhook:dir=" + dir + "/config/webhook"
	}
	core := Project{
		Name:    "cluster-api",
		Modules: modules,
		Object: args(header + "paths=./api/addons/... paths=./api/core/... paths=./api/ipam/... paths=./api/runtime/... " +
			"paths=./api/runtime/hooks/... " +
			"paths=./cmd/clusterctl/... paths=./controllers/crdmigrator/test/... paths=./internal/runtime/test/... " +
			"paths=./internal/topology/upgrade/test/... paths=./util/test/builder/... " +
			"paths=./util/deprecated/v1beta1/test/builder/..."),
		Manifests: args("paths=./api/addons/... paths=./api/core/... paths=./api/ipam/... paths=./api/runtime/... " +
			"paths=./core paths=./core/reconcilers/... paths=./core/webhooks/..." + outputs("./core")),
		Applied: []string{"api/core/v1beta2", "api/addons/v1beta2", "api/ipam/v1beta2"},
		Patch: args("schemapatch:manifests=core/config/crd/bases,maxDescLen=80 paths=./api/core/... paths=./api/ipam/... " +
			"output:dir=out/patched"),
		Edited: Type{"api/core/v1beta2/cluster_types.go", "ClusterSpec"},
	}
	for _, dir := range []string{
		"cmd/clusterctl/api", "util/test/builder", "internal/topology/upgrade/test/t1", "internal/topology/upgrade/test/t2",
		"controllers/crdmigrator/test/t1", "controllers/crdmigrator/test/t2", "controllers/crdmigrator/test/t3",
		"controllers/crdmigrator/test/t4", "util/deprecated/v1beta1/test/builder",
	} {
		core.More = append(core.More, args("paths=./"+dir+"/... crd:crdVersions=v1 output:crd:dir=./"+dir+"/crd"))
	}
	return []Project{core, {
		Name:    "cluster-api bootstrap/kubeadm",
		Modules: modules,
		Object:  args(header + "paths=./api/bootstrap/kubeadm/... paths=./bootstrap/kubeadm/pkg/types/..."),
		Manifests: args("paths=./api/bootstrap/kubeadm/... paths=./bootstrap/kubeadm " +
			"paths=./bootstrap/kubeadm/reconcilers/... " +
			"paths=./bootstrap/kubeadm/webhooks/..." + outputs("./bootstrap/kubeadm")),
		Patch: args("schemapatch:manifests=bootstrap/kubeadm/config/crd/bases paths=./api/bootstrap/... " +
			"output:dir=out/patched"),
		Edited: Type{"api/bootstrap/kubeadm/v1beta2/kubeadmconfig_types.go", "KubeadmConfigSpec"},
	}, {
		Name:    "cluster-api controlplane/kubeadm",
		Modules: modules,
		Object:  args(header + "paths=./api/controlplane/kubeadm/..."),
		Manifests: args("paths=./api/controlplane/kubeadm/... paths=./controlplane/kubeadm " +
			"paths=./controlplane/kubeadm/reconcilers/... " +
			"paths=./controlplane/kubeadm/webhooks/..." + outputs("./controlplane/kubeadm")),
		Patch: args("schemapatch:manifests=controlplane/kubeadm/config/crd/bases,maxDescLen=0 " +
			"paths=./api/controlplane/... output:dir=out/patched"),
		Edited: Type{"api/controlplane/kubeadm/v1beta2/kubeadm_control_plane_types.go", "KubeadmControlPlaneSpec"},
	}, {
		Name: "cluster-api infrastructure/docker",
		Modules: []Module{
			{Path: "sigs.k8s.io/cluster-api", Version: "v1.13.0"},
			{Path: "sigs.k8s.io/cluster-api/test", Version: "v1.13.0", Dir: "test"},
		},
		Dir:    "test/infrastructure/docker",
		Object: args("object:headerFile=../../../hack/boilerplate/boilerplate.generatego.txt paths=./api/..."),
		Manifests: args("paths=./ paths=./api/... paths=./internal/controllers/... paths=./internal/webhooks/..." +
			outputs(".")),
		More:    [][]string{args("paths=./ paths=./api/... paths=./internal/... rbac:roleName=manager-role output:stdout")},
		Applied: []string{"api/v1beta2"},
		Patch:   args("schemapatch:manifests=config/crd/bases,maxDescLen=0 paths=./api/... output:dir=out/patched"),
		Edited:  Type{"api/v1beta2/devcluster_types.go", "DevClusterSpec"},
	}}
}

func prometheusOperator() []Project {
	return []Project{{
		Name: "prometheus-operator",
		Modules: []Module{{Path: "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring",
			Version: "v0.94.0"}},
		Object:    args("object paths=./..."),
		Manifests: args("crd:crdVersions=v1 paths=./... output:crd:dir=out/crd"),
		More: [][]string{
			args("crd:crdVersions=v1,maxDescLen=0 paths=./v1/. paths=./v1alpha1/. output:crd:dir=out/short"),
			args("crd:ignoreUnexportedFields=true,generateEmbeddedObjectMeta=true,maxDescLen=80 paths=./... " +
				"output:crd:dir=out/medium"),
		},
		Applied: []string{"v1", "v1beta1"},
		Patch:   args("schemapatch:manifests=out/crd,maxDescLen=0 paths=./... output:dir=out/patched"),
		Edited:  Type{"v1/prometheus_types.go", "PrometheusSpec"},
	}}
}

func keda() []Project {
	const packages = " paths=./apis/... paths=./controllers/... paths=./pkg/..."
	return []Project{{
		Name:    "keda",
		Modules: []Module{{Path: "github.com/kedacore/keda/v2", Version: "v2.21.0"}},
		Object:  args("object:headerFile=hack/boilerplate.go.txt" + packages),
		Manifests: args("crd:crdVersions=v1,generateEmbeddedObjectMeta=true rbac:roleName=keda-operator" + packages +
			" output:crd:artifacts:config=config/crd/bases"),
		Applied: []string{"apis/keda/v1alpha1", "apis/eventing/v1alpha1"},
		Patch: args("schemapatch:manifests=config/crd/bases,generateEmbeddedObjectMeta=true paths=./apis/... " +
			"output:dir=out/patched"),
		Edited: Type{"apis/keda/v1alpha1/scaledobject_types.go", "ScaledObjectSpec"},
	}}
}

func contour() []Project {
	return []Project{{
		Name:      "contour",
		Modules:   []Module{{Path: "github.com/projectcontour/contour", Version: "v1.33.0"}},
		Object:    args("object paths=./apis/..."),
		Manifests: args("crd:crdVersions=v1 paths=./apis/... output:dir=out/crd"),
		More: [][]string{
			args("rbac:roleName=contour output:stdout paths=./internal/k8s"),
			args("rbac:roleName=contour-gateway-provisioner output:stdout paths=./internal/provisioner/rbac;./internal/k8s"),
		},
		Patch:  args("schemapatch:manifests=out/crd,maxDescLen=0 paths=./apis/... output:dir=out/patched"),
		Edited: Type{"apis/projectcontour/v1/httpproxy.go", "HTTPProxySpec"},
	}}
}

func kueue() []Project {
	return []Project{{
		Name:    "kueue",
		Modules: []Module{{Path: "sigs.k8s.io/kueue", Version: "v0.15.2"}},
		Object:  args("object:headerFile=hack/boilerplate.go.txt paths=./apis/..."),
		Manifests: args("crd:generateEmbeddedObjectMeta=true output:crd:artifacts:config=config/components/crd/bases " +
			"paths=./apis/..."),
		More: [][]string{
			args("rbac:roleName=manager-role output:rbac:artifacts:config=config/components/rbac webhook " +
				"output:webhook:artifacts:config=config/components/webhook " +
				"paths=./pkg/controller/...;./pkg/webhooks/...;./pkg/util/cert/...;./pkg/visibility/..."),
		},
		Applied: []string{"apis/kueue/v1beta1", "apis/kueue/v1beta2", "apis/visibility/v1beta2"},
		Patch: args("schemapatch:manifests=config/components/crd/bases,generateEmbeddedObjectMeta=true,maxDescLen=40 " +
			"paths=./apis/... output:dir=out/patched"),
		Edited: Type{"apis/kueue/v1beta2/workload_types.go", "WorkloadSpec"},
	}}
}

func karpenter() []Project {
	return []Project{{
		Name:      "karpenter",
		Modules:   []Module{{Path: "sigs.k8s.io/karpenter", Version: "v1.9.0"}},
		Dir:       "pkg/apis",
		Object:    args("object:headerFile=../../hack/boilerplate.go.txt paths=./..."),
		Manifests: args("crd paths=./... output:crd:artifacts:config=crds"),
		Applied:   []string{"v1"},
		Patch:     args("schemapatch:manifests=crds,maxDescLen=0 paths=./... output:dir=out/patched"),
		Edited:    Type{"v1/nodepool.go", "NodePoolSpec"},
	}}
}

// kyverno returns a project that names its packages by import path.
func kyverno() []Project {
	const api = "github.com/kyverno/kyverno/api/"
	return []Project{{
		Name:      "kyverno",
		Modules:   []Module{{Path: "github.com/kyverno/kyverno", Version: "v1.19.1"}},
		Manifests: args("crd paths=" + api + "kyverno/v1;" + api + "kyverno/v2 output:crd:dir=out/crd"),
		More: [][]string{
			args("crd paths=" + api + "kyverno/v1;" + api + "kyverno/v2;" + api + "kyverno/v2beta1 output:crd:dir=out/more"),
			args("crd paths=" + api + "policyreport/... output:crd:dir=out/reports"),
			args("object paths=" + api + "reports/..."),
		},
		Edited: Type{"api/kyverno/v1/spec_types.go", "Spec"},
	}}
}
