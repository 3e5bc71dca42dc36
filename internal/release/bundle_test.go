package release

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

type fields = map[string]any

// at returns what is at keys, or nil.
func at(value any, keys ...string) any {
	for _, key := range keys {
		m, ok := value.(fields)
		if !ok {
			return nil
		}
		value = m[key]
	}
	return value
}

func list(value any, keys ...string) []any {
	found, _ := at(value, keys...).([]any)
	return found
}

func parsed(t *testing.T, content []byte) fields {
	t.Helper()
	var value fields
	if err := yaml.Unmarshal(content, &value); err != nil {
		t.Fatalf("%v in\n%s", err, content)
	}
	return value
}

// bundled is a bundle that was read back.
type bundled struct {
	csv   fields
	files map[string]fields // the other manifests, by kind and name
	notes string
}

func bundleOf(t *testing.T, source Source, b Bundle) (bundled, *plan.Plan) {
	t.Helper()
	p := plan.New(os.DirFS(source.Dir))
	if err := PlanBundle(p, b, source); err != nil {
		t.Fatal(err)
	}
	made := bundled{files: map[string]fields{}}
	for change := range p.Changes() {
		if !strings.HasPrefix(change.Path, b.Dir+"/manifests/") {
			continue
		}
		value := parsed(t, change.After)
		if at(value, "kind") == "ClusterServiceVersion" {
			made.csv = value
			continue
		}
		key := fmt.Sprint(at(value, "kind"), " ", at(value, "metadata", "name"))
		if made.files[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		made.files[key] = value
	}
	for _, note := range p.Notes() {
		made.notes += note.Message + "\n"
	}
	return made, p
}

// TestBundleIsWhatKustomizeBuilds takes every object that kustomize builds and finds it in the bundle, or in a note; and what the
// manager's account may do is the same.
func TestBundleIsWhatKustomizeBuilds(t *testing.T) {
	for _, name := range []string{"project", "project-multigroup", "project-controllers"} {
		for _, components := range []string{"", "network-policy", "prometheus", "grafana"} {
			t.Run(name+" "+components, func(t *testing.T) {
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "testdata", name))); err != nil {
					t.Fatal(err)
				}
				if components != "" {
					listComponent(t, dir, components)
				}
				source := Source{Dir: dir, Image: "example.com/a/operator:v1"}
				made, _ := bundleOf(t, source, Bundle{Dir: "dist/bundle", Name: "operator", Version: "1.2.3"})
				installer, err := Installer(source)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, made, installer)
			})
		}
	}
}

func listComponent(t *testing.T, dir, name string) {
	t.Helper()
	file := filepath.Join(dir, "config", "default", "kustomization.yaml")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, listed, found := strings.Cut(string(content), "components: [")
	if !found {
		t.Fatalf("no list of components in\n%s", content)
	}
	item := "../components/" + name
	if strings.TrimSpace(listed) != "]" {
		item += ", "
	}
	if err := os.WriteFile(file, []byte(before+"components: ["+item+listed), 0o644); err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, made bundled, installer []byte) {
	t.Helper()
	install := at(made.csv, "spec", "install", "spec")
	var objects []fields
	for text := range strings.SplitSeq(string(installer), "\n---\n") {
		objects = append(objects, parsed(t, []byte(text)))
	}
	webhooks := map[string]any{}
	for _, w := range list(made.csv, "spec", "webhookdefinitions") {
		webhooks[fmt.Sprint(at(w, "type"), " ", at(w, "generateName"))] = w
	}
	rules, seen := map[string]bool{}, map[string]bool{}
	for _, o := range objects {
		kind, name := at(o, "kind").(string), at(o, "metadata", "name").(string)
		key := kind + " " + name
		switch kind {
		case "Namespace":
		case "Deployment":
			i := slices.IndexFunc(list(install, "deployments"), func(d any) bool { return at(d, "name") == name })
			if i < 0 {
				t.Errorf("no %s", key)
				continue
			}
			sameDeployment(t, list(install, "deployments")[i], o)
		case "ServiceAccount":
			if made.files[key] != nil {
				t.Errorf("%s is in the bundle, and OLM makes it", key)
			}
		case "RoleBinding", "ClusterRoleBinding":
			ruled(rules, o, objects)
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			for _, w := range list(o, "webhooks") {
				key := fmt.Sprint(strings.TrimSuffix(kind, "WebhookConfiguration"), "AdmissionWebhook ", at(w, "name"))
				got := webhooks[key]
				if !reflect.DeepEqual(at(got, "rules"), at(w, "rules")) || at(got, "webhookPath") != at(w, "clientConfig", "service", "path") ||
					at(got, "failurePolicy") != at(w, "failurePolicy") || at(got, "targetPort") != "webhooks" {
					t.Errorf("%s is %v, of %v", key, got, w)
				}
			}
		case "CustomResourceDefinition":
			seen[key] = true
			delete(o["spec"].(fields), "conversion")
			annotations := at(o, "metadata", "annotations").(fields)
			if delete(annotations, "cert-manager.io/inject-ca-from"); !reflect.DeepEqual(made.files[key], o) {
				t.Errorf("%s is not what kustomize builds", key)
			}
		default:
			if seen[key] = true; made.files[key] == nil {
				accounted := strings.Contains(made.notes, key+" is not in the bundle") || kind == "Service" && strings.Contains(name, "webhook") ||
					kind == "Role" || kind == "ClusterRole" || kind == "Issuer" || kind == "Certificate"
				if !accounted {
					t.Errorf("no %s", key)
				}
				continue
			}
			delete(o["metadata"].(fields), "namespace")
			if !reflect.DeepEqual(made.files[key], o) {
				t.Errorf("%s is %v, want %v", key, made.files[key], o)
			}
		}
	}
	for key := range made.files {
		if !seen[key] {
			t.Errorf("the bundle alone has %s", key)
		}
	}
	got := map[string]bool{}
	for _, which := range []string{"permissions", "clusterPermissions"} {
		for _, p := range list(install, which) {
			for _, rule := range list(p, "rules") {
				got[fmt.Sprint(which, at(p, "serviceAccountName"), rule)] = true
			}
		}
	}
	if !maps.Equal(got, rules) {
		t.Errorf("accounts may do %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(rules)))
	}
}

// ruled notes what a binding lets accounts do, but for what is about certificates, which OLM makes.
func ruled(rules map[string]bool, binding fields, objects []fields) {
	which := map[string]string{"RoleBinding": "permissions", "ClusterRoleBinding": "clusterPermissions"}[at(binding, "kind").(string)]
	for _, o := range objects {
		name := fmt.Sprint(at(o, "metadata", "name"))
		if at(o, "kind") != at(binding, "roleRef", "kind") || name != at(binding, "roleRef", "name") ||
			strings.HasSuffix(name, "webhook-certificates") || strings.HasSuffix(name, "webhook-trust") {
			continue
		}
		for _, subject := range list(binding, "subjects") {
			for _, rule := range list(o, "rules") {
				rules[fmt.Sprint(which, at(subject, "name"), rule)] = true
			}
		}
	}
}

// sameDeployment compares a deployment, but for what tells the manager of its certificate and its namespaces.
func sameDeployment(t *testing.T, got any, want fields) {
	t.Helper()
	for _, spec := range []any{at(got, "spec"), at(want, "spec")} {
		pod := at(spec, "template", "spec").(fields)
		for _, c := range list(pod, "containers") {
			delete(c.(fields), "env")
			delete(c.(fields), "volumeMounts")
			args := c.(fields)["args"].([]any)
			c.(fields)["args"] = slices.DeleteFunc(args, func(arg any) bool { return strings.HasPrefix(arg.(string), "--namespaces") })
		}
		delete(pod, "volumes")
	}
	if !reflect.DeepEqual(at(got, "spec"), at(want, "spec")) || !reflect.DeepEqual(at(got, "label"), at(want, "metadata", "labels")) {
		t.Errorf("the deployment is\n%v, want\n%v", got, want)
	}
}

// TestBundleKeepsTheBase has a base say everything that a user may, and every key that the bundle sets.
func TestBundleKeepsTheBase(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "testdata", "project-controllers"))); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, "config", "manifests", "bases", "operator.clusterserviceversion.yaml")
	if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		t.Fatal(err)
	}
	said := []byte(`apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: operator.v0.0.0
  annotations: {capabilities: Deep Insights, operatorframework.io/suggested-namespace: elsewhere, categories: "Database"}
  labels: {operatorframework.io/arch.arm64: supported}
spec:
  icon: [{base64data: PHN2Zy8+, mediatype: image/svg+xml}]
  maintainers: [{name: a, email: a@example.com}]
  keywords: [a, b]
  links: [{name: a, url: https://example.com}]
  replaces: operator.v1.0.0
  minKubeVersion: 1.30.0
  description: |
    Mine.
  version: 9.9.9
  webhookdefinitions: [{type: ConversionWebhook, generateName: old}]
  installModes: [{type: OwnNamespace, supported: true}]
  customresourcedefinitions:
    required: [{name: a.example.com, version: v1, kind: A}]
    owned: [{name: old.example.com, version: v1, kind: Old}]
`)
	if err := os.WriteFile(base, said, 0o644); err != nil {
		t.Fatal(err)
	}
	made, p := bundleOf(t, Source{Dir: dir}, Bundle{Dir: "dist/bundle", Name: "operator", Version: "1.2.3"})
	want := parsed(t, said)
	for _, keys := range [][]string{
		{"metadata", "labels"},
		{"metadata", "annotations", "capabilities"},
		{"metadata", "annotations", "categories"},
		{"metadata", "annotations", "operatorframework.io/suggested-namespace"},
		{"spec", "icon"},
		{"spec", "maintainers"},
		{"spec", "keywords"},
		{"spec", "links"},
		{"spec", "replaces"},
		{"spec", "minKubeVersion"},
		{"spec", "description"},
		{"spec", "installModes"},
		{"spec", "customresourcedefinitions", "required"},
	} {
		if !reflect.DeepEqual(at(made.csv, keys...), at(want, keys...)) {
			t.Errorf("%v is %v, want %v", keys, at(made.csv, keys...), at(want, keys...))
		}
	}
	if at(made.csv, "spec", "version") != "1.2.3" || at(made.csv, "metadata", "name") != "operator.v1.2.3" || at(made.csv, "spec", "webhookdefinitions") != nil {
		t.Errorf("the version is %v of %v", at(made.csv, "spec", "version"), at(made.csv, "metadata", "name"))
	}
	for change := range p.Changes() {
		if strings.HasPrefix(change.Path, "config/") {
			t.Errorf("%s is changed", change.Path)
		}
	}
}

// TestBundleNeedsNoCertManager has a manager that mounts what cert-manager makes, for webhooks and metrics, as projects of kubebuilder do.
func TestBundleNeedsNoCertManager(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"kustomization.yaml": "resources: [objects.yaml]\n",
		"objects.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: m, namespace: n, labels: {control-plane: controller-manager}}
spec:
  template:
    metadata: {labels: {a: b}}
    spec:
      serviceAccountName: m
      containers:
      - name: manager
        image: controller:latest
        args: [--webhook-cert-path=/here, --metrics-cert-path=/there, --leader-elect]
        volumeMounts: [{name: w, mountPath: /here}, {name: m, mountPath: /there}, {name: mine, mountPath: /mine}]
      volumes: [{name: w, secret: {secretName: w}}, {name: m, secret: {secretName: m}}, {name: mine, secret: {secretName: mine}}]
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: i, namespace: n}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: w, namespace: n}
spec: {secretName: w}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: m, namespace: n}
spec: {secretName: m}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: mine, namespace: n}
spec: {secretName: mine}
---
apiVersion: v1
kind: Service
metadata: {name: s, namespace: n}
spec: {selector: {a: b}, ports: [{port: 8443, targetPort: 9443}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: v, annotations: {cert-manager.io/inject-ca-from: n/w}}
webhooks:
- name: a.b.c
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: s, namespace: n, path: /p, port: 8443}}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	made, _ := bundleOf(t, Source{Dir: dir, Kustomization: "."}, Bundle{Dir: "dist/bundle", Name: "operator"})
	pod := at(list(made.csv, "spec", "install", "spec", "deployments")[0], "spec", "template", "spec")
	manager := list(pod, "containers")[0]
	for what, got := range map[string]any{
		"[--webhook-cert-path=/tmp/k8s-webhook-server/serving-certs --leader-elect]": at(manager, "args"),
		"[map[mountPath:/mine name:mine]]":                                           at(manager, "volumeMounts"),
		"[map[name:mine secret:map[secretName:mine]]]":                               at(pod, "volumes"),
	} {
		if fmt.Sprint(got) != what {
			t.Errorf("the manager has %v, want %s", got, what)
		}
	}
	w := list(made.csv, "spec", "webhookdefinitions")[0]
	if at(w, "deploymentName") != "m" || fmt.Sprint(at(w, "containerPort"), at(w, "targetPort")) != "8443 9443" {
		t.Errorf("the webhook is %v", w)
	}
	if len(made.files) > 0 || strings.Count(made.notes, "Certificate mine is not in the bundle") != 1 || strings.Count(made.notes, "\n") != 1 {
		t.Errorf("the bundle has %v besides, and the notes are %s", slices.Collect(maps.Keys(made.files)), made.notes)
	}
}

// TestMarkersOfOperatorSDKDescribe reads them in every place and form that operator-sdk does.
func TestMarkersOfOperatorSDKDescribe(t *testing.T) {
	types, err := describeTypes(fstest.MapFS{
		"api/v1/doc.go": {Data: []byte("// Package v1\n// +groupName=web.example.com\npackage v1\n")},
		"api/v1/types.go": {Data: []byte(`package v1

// +operator-sdk:csv:customresourcedefinitions:displayName="Web Site",resources={{Deployment,v1,""},{Service,v1,site}}

// Site is a site.
type Site struct {
	Spec   SiteSpec    ` + "`json:\"spec\"`" + `
	Status *SiteStatus ` + "`json:\"status,omitempty\"`" + `
}

type SiteSpec struct {
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pods",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount","urn:x"},order=1
	Size int ` + "`json:\"size\"`" + `
	Common ` + "`json:\",inline\"`" + `
	// Pages are pages.
	Pages []*Page ` + "`json:\"pages\"`" + `
	Hidden string ` + "`json:\"-\"`" + `
}

type Common struct {
	//+operator-sdk:csv:customresourcedefinitions:type=spec
	Plain string ` + "`json:\"plain\"`" + `
}

type Page struct {
	// Title is what it
	// is called.
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Title string ` + "`json:\"title\"`" + `
	Below []Page ` + "`json:\"below\"`" + `
}

type SiteStatus struct {
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Up"
	Ready bool ` + "`json:\"ready\"`" + `
}
`)},
		"third_party/x/x.go": {Data: []byte("package x // +operator-sdk:csv:customresourcedefinitions {{ broken")},
	})
	if err != nil {
		t.Fatal(err)
	}
	site := types[typeKey{"web.example.com", "v1", "Site"}]
	if site == nil {
		t.Fatalf("there is no site in %v", types)
	}
	k := ownedKind{SpecDescriptors: []descriptor{{Path: "plain", DisplayName: "Plain", Description: "of the schema"}, {Path: "size"}}}
	site.describe(&k)
	want := ownedKind{
		DisplayName: "Web Site",
		Resources:   []resource{{Kind: "Deployment", Version: "v1"}, {Kind: "Service", Version: "v1", Name: "site"}},
		SpecDescriptors: []descriptor{
			{Path: "size", DisplayName: "Pods", XDescriptors: []string{"urn:alm:descriptor:com.tectonic.ui:podCount", "urn:x"}},
			{Path: "pages[0].title", DisplayName: "Title", Description: "Title is what it is called."},
			{Path: "plain", DisplayName: "Plain", Description: "of the schema"},
		},
		StatusDescriptors: []descriptor{{Path: "ready", DisplayName: "Up"}},
	}
	if !reflect.DeepEqual(k, want) {
		t.Errorf("got\n%+v, want\n%+v", k, want)
	}
}

func TestDisplayNameIsWords(t *testing.T) {
	for name, want := range map[string]string{
		"replicas": "Replicas", "imagePullPolicy": "Image Pull Policy", "dbURL": "Db URL", "HTTPRoute": "HTTP Route", "fleet-operator": "Fleet Operator", "x": "X", "": "",
	} {
		if got := displayName(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
