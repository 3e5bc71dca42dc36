package scaffold

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/versions"
)

// TypesFile is a Go file of a package with types. Its path is used in messages.
type TypesFile = versions.File

// Types returns the Go files of a package, and whether it found the package.
type Types func(importPath string) (files []TypesFile, found bool)

// checkForeign rejects a kind that its package does not declare, and sets the scope that the package declares.
func checkForeign(r *project.Resource, types Types) error {
	if types == nil {
		return nil
	}
	files, found := types(r.Path)
	if !found {
		return nil
	}
	pkg, err := versions.Parse(files)
	if err != nil {
		return err
	}
	kinds := pkg.Kinds()
	if !slices.Contains(kinds, r.Kind) {
		e := diagnostic.Usage(fmt.Sprintf("%s declares no kind %s", r.Path, r.Kind),
			"its kinds are "+strings.Join(kinds, ", "))
		if near, ok := diagnostic.Near(r.Kind, kinds); ok {
			e.Hint = "did you mean " + near + "?"
		}
		return e
	}
	if pkg.ClusterScoped(r.Kind) {
		r.Namespaced = false
	}
	return nil
}

// foreignKind returns the external kind that the options name. Its path is empty if the group is unknown.
func foreignKind(opts ControllerOptions) project.Resource {
	r := project.Resource{
		Group: opts.Group, Domain: opts.Domain, Version: opts.Version, Kind: opts.Kind, Path: opts.Path,
		Plural: cmp.Or(opts.Plural, project.Plural(opts.Kind)), Namespaced: opts.Namespaced,
	}
	if opts.Path != "" {
		return r
	}
	for _, g := range builtinGroups {
		if opts.Group == g.folder || opts.Group == g.group || opts.Group == strings.TrimSuffix(g.group, ".k8s.io") {
			r.Group, r.Domain = g.group, ""
			r.Path = path.Join("k8s.io/api", g.folder, opts.Version)
			r.Namespaced = !slices.Contains(clusterScoped, opts.Kind)
		}
	}
	return r
}

// builtinGroups are the groups of k8s.io/api, and their directories.
var builtinGroups = []struct{ group, folder string }{
	{"", "core"},
	{"admissionregistration.k8s.io", "admissionregistration"},
	{"apps", "apps"},
	{"autoscaling", "autoscaling"},
	{"batch", "batch"},
	{"certificates.k8s.io", "certificates"},
	{"coordination.k8s.io", "coordination"},
	{"discovery.k8s.io", "discovery"},
	{"events.k8s.io", "events"},
	{"flowcontrol.apiserver.k8s.io", "flowcontrol"},
	{"networking.k8s.io", "networking"},
	{"node.k8s.io", "node"},
	{"policy", "policy"},
	{"rbac.authorization.k8s.io", "rbac"},
	{"resource.k8s.io", "resource"},
	{"scheduling.k8s.io", "scheduling"},
	{"storage.k8s.io", "storage"},
	{"storagemigration.k8s.io", "storagemigration"},
}

// clusterScoped are the cluster-scoped kinds of the built-in groups.
var clusterScoped = []string{
	"CSIDriver", "CSINode", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding", "ClusterTrustBundle",
	"ComponentStatus", "DeviceClass",
	"FlowSchema", "IPAddress", "IngressClass", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
	"MutatingWebhookConfiguration",
	"Namespace", "Node", "PersistentVolume", "PriorityClass", "PriorityLevelConfiguration", "ResourceSlice",
	"RuntimeClass", "ServiceCIDR",
	"StorageClass", "StorageVersionMigration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	"ValidatingWebhookConfiguration",
	"VolumeAttachment", "VolumeAttributesClass",
}
