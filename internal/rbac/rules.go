package rbac

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrbac "sigs.k8s.io/controller-tools/pkg/rbac"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kctrl-dev/kctrl/internal/access"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/load"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// rule is a set of permissions that a marker or a role in config/ grants.
type rule struct {
	groups, resources, verbs, names, urls []string
	namespace                             string // empty for a cluster role
	marker                                *marker
}

// marker is an RBAC marker in the source.
type marker struct {
	pos     token.Position // of the "+"
	text    string
	offset  int // of the "+" in the file
	ignored string
}

// markersOf returns the rules of the markers in the packages that match the patterns. It skips modules in
// subdirectories. unread is a file with a syntax error, because of which the markers of its package are not known, or
// "".
func markersOf(ctx context.Context, dir string, fsys fs.FS, patterns []string) (rules []rule, unread string, _ error) {
	program, failed := load.Load(ctx, load.Config{Dir: dir, Patterns: patterns, Lenient: true})
	if program == nil {
		return nil, "", failed
	}
	for _, one := range diagnostic.All(failed) {
		if e, ok := errors.AsType[*diagnostic.Error](one); ok {
			name := access.Relative(dir, e.Pos.Filename)
			if unread == "" && !inModuleBelow(fsys, name) {
				unread = name
			}
		}
	}
	for _, pkg := range program.Packages() {
		for _, m := range pkg.Markers {
			value, ok := m.Value.(ctrbac.Rule)
			if !ok || !m.Counts() {
				continue
			}
			r := ruleOf(value)
			var err error
			if r.marker, err = markerOf(program, m); err != nil {
				return nil, "", err
			}
			if !inModuleBelow(fsys, r.marker.pos.Filename) {
				rules = append(rules, r)
			}
		}
	}
	return rules, unread, ctx.Err()
}

// inModuleBelow reports whether a file belongs to a module in a subdirectory.
func inModuleBelow(fsys fs.FS, name string) bool {
	for dir := path.Dir(name); dir != "." && fs.ValidPath(dir); dir = path.Dir(dir) {
		if _, err := fs.Stat(fsys, path.Join(dir, "go.mod")); err == nil {
			return true
		}
	}
	return false
}

func ruleOf(value ctrbac.Rule) rule {
	r := rule{
		groups: slices.Clone(value.Groups), resources: value.Resources, verbs: value.Verbs, names: value.ResourceNames,
		urls: value.URLs, namespace: value.Namespace,
	}
	for i, group := range r.groups {
		if group == "core" {
			r.groups[i] = ""
		}
	}
	if len(r.groups) == 0 {
		r.groups = []string{""}
	}
	return r
}

// markerOf returns the position of a marker, and the reason in a comment //kctrl:ignore rbac: on the line above.
func markerOf(program *load.Program, m markers.Marker) (*marker, error) {
	at := program.Fset().Position(m.Pos)
	content, err := program.ReadFile(at.Filename)
	if err != nil {
		return nil, err
	}
	found := &marker{pos: at, text: m.Text, offset: at.Offset}
	start := bytes.LastIndexByte(content[:at.Offset], '\n')
	if start > 0 {
		above := content[bytes.LastIndexByte(content[:start], '\n')+1 : start]
		if why, ok := strings.CutPrefix(strings.TrimSpace(string(above)), access.IgnorePrefix); ok {
			found.ignored = strings.TrimSpace(why)
		}
	}
	found.pos.Filename, found.pos.Offset = access.Relative(program.Dir(), at.Filename), 0
	return found, nil
}

// readConfig reads the roles, the bindings and the manager's flags in config/. In a directory with a kustomization, it
// reads only the files that the kustomization mentions.
func readConfig(fsys fs.FS) (*manifests, error) {
	found := &manifests{refs: map[rbacv1.RoleRef]bool{}}
	err := fs.WalkDir(fsys, "config", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "crd" || entry.Name() == "samples"):
			return fs.SkipDir
		case !entry.IsDir() && (path.Ext(name) == ".yaml" || path.Ext(name) == ".yml"):
			if mentioned := kustomized(fsys, path.Dir(name)); mentioned != nil && !mentioned[path.Base(name)] {
				return nil
			}
			return found.read(fsys, name)
		}
		return nil
	})
	return found, err
}

// kustomized returns the strings in the kustomization of a directory, or nil if it has none that can be read.
func kustomized(fsys fs.FS, dir string) map[string]bool {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		content, err := fs.ReadFile(fsys, path.Join(dir, name))
		if err != nil {
			continue
		}
		var document any
		if yaml.Unmarshal(content, &document) != nil {
			return nil
		}
		mentioned := map[string]bool{}
		var visit func(any)
		visit = func(node any) {
			switch node := node.(type) {
			case string:
				mentioned[path.Clean(node)] = true
			case []any:
				for _, item := range node {
					visit(item)
				}
			case map[string]any:
				for _, value := range node {
					visit(value)
				}
			}
		}
		visit(document)
		return mentioned
	}
	return nil
}

// manifests are the roles, bindings and flags in config/.
type manifests struct {
	roles []rbacv1.Role // cluster roles have the kind ClusterRole
	// refs are the roles in bindings to a service account. The value is true if a ClusterRoleBinding is among them.
	refs map[rbacv1.RoleRef]bool
	// authority are the requests for the webhooks' certificate, which a flag of the manager enables.
	authority []access.Access
}

func (m *manifests) read(fsys fs.FS, name string) error {
	content, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		var document json.RawMessage
		if decoder.Decode(&document) != nil {
			return nil // the end, a template, or an invalid file, which kctrl doctor reports
		}
		m.add(name, content, document)
	}
}

// add adds an object, or the objects of a List, in a file.
func (m *manifests) add(name string, content, document []byte) {
	var object struct {
		rbacv1.Role `json:",inline"`
		RoleRef     rbacv1.RoleRef    `json:"roleRef"`
		Subjects    []rbacv1.Subject  `json:"subjects"`
		Items       []json.RawMessage `json:"items"`
	}
	if json.Unmarshal(document, &object) != nil {
		return
	}
	switch object.Kind {
	case "Role", "ClusterRole":
		m.roles = append(m.roles, object.Role)
	case "RoleBinding", "ClusterRoleBinding":
		account := func(s rbacv1.Subject) bool { return s.Kind == "ServiceAccount" }
		if slices.ContainsFunc(object.Subjects, account) {
			ref := rbacv1.RoleRef{Kind: object.RoleRef.Kind, Name: object.RoleRef.Name}
			m.refs[ref] = m.refs[ref] || object.Kind == "ClusterRoleBinding"
		}
	case "Deployment":
		m.flags(name, content, document)
	default:
		for _, item := range object.Items {
			m.add(name, content, item)
		}
	}
}

// clusterAdmin is the role that every cluster has, and that permits everything.
var clusterAdmin = rbacv1.Role{
	TypeMeta:   metav1.TypeMeta{Kind: "ClusterRole"},
	ObjectMeta: metav1.ObjectMeta{Name: "cluster-admin"},
	Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{NonResourceURLs: []string{"*"}, Verbs: []string{"*"}},
	},
}

// The flags of kctrl's manager for the targets and the Secret of its certificate authority, and the suffixes of the
// environment variables that set them.
const (
	targetsFlag, targetsVariable = "--webhook-targets=", "_WEBHOOK_TARGETS"
	secretFlag, secretVariable   = "--webhook-secret=", "_WEBHOOK_SECRET"
)

// flags finds the requests of the certificate authority that a Deployment enables.
func (m *manifests) flags(name string, content, document []byte) {
	var deployment appsv1.Deployment
	if json.Unmarshal(document, &deployment) != nil {
		return
	}
	var targets []string
	secret := access.DefaultSecret
	for _, container := range deployment.Spec.Template.Spec.Containers {
		for _, arg := range slices.Concat(container.Command, container.Args) {
			if value, ok := strings.CutPrefix(arg, targetsFlag); ok {
				targets = append(targets, strings.Split(value, ",")...)
			}
			if value, ok := strings.CutPrefix(arg, secretFlag); ok {
				secret = value
			}
		}
		var values []string // of earlier variables, as Kubernetes inserts them
		for _, variable := range container.Env {
			variable.Value = strings.NewReplacer(values...).Replace(variable.Value)
			values = append(values, "$("+variable.Name+")", variable.Value)
			if strings.HasSuffix(variable.Name, targetsVariable) {
				targets = append(targets, strings.Split(variable.Value, ",")...)
			}
			if strings.HasSuffix(variable.Name, secretVariable) {
				secret = variable.Value
			}
		}
	}
	at := token.Position{Filename: name}
	for _, text := range []string{targetsFlag, targetsVariable} {
		if i := bytes.Index(content, []byte(text)); i >= 0 {
			at.Line = bytes.Count(content[:i], []byte("\n")) + 1
			at.Column = i - bytes.LastIndexByte(content[:i], '\n')
		}
	}
	site := access.Site{Pos: at, Call: "the webhooks' certificate authority"}
	m.authority = append(m.authority, access.Authority(targets, secret, site)...)
}

// bound returns the rules of the roles that are bound to a service account, without the role that kctrl manifests
// generates from the markers.
func (m *manifests) bound(generated string) (rules []rule) {
	for _, role := range append(m.roles, clusterAdmin) {
		everywhere, bound := m.refs[rbacv1.RoleRef{Kind: role.Kind, Name: role.Name}]
		if role.Name == generated || !bound {
			continue
		}
		namespace := ""
		if !everywhere {
			namespace = access.PodNamespace // kustomize sets the namespace in which the manager runs
		}
		for _, r := range role.Rules {
			rules = append(rules, rule{
				groups: r.APIGroups, resources: r.Resources, verbs: r.Verbs, names: r.ResourceNames,
				urls: r.NonResourceURLs, namespace: namespace,
			})
		}
	}
	return rules
}

// grants reports whether the rule grants a verb on a resource to any object.
func (r rule) grants(resource access.Resource, verb string) bool {
	return matches(r.groups, resource.Group) && matches(r.verbs, verb) && r.hasResource(resource.Name)
}

func matches(all []string, one string) bool {
	return slices.Contains(all, one) || slices.Contains(all, "*")
}

func (r rule) hasResource(name string) bool {
	_, sub, isSub := strings.Cut(name, "/")
	return matches(r.resources, name) || isSub && slices.Contains(r.resources, "*/"+sub)
}
