package chart_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	syaml "sigs.k8s.io/yaml"
)

const image = "registry.example.com:5000/operators/guestbook:v1.2.3"

// project is a copy of a golden project.
type project struct {
	*testing.T
	dir, name string
}

// projects runs a test for each golden project, once unchanged and once with all components enabled.
func projects(t *testing.T, run func(*testing.T, *project)) {
	for source, name := range map[string]string{"project": "guestbook", "project-multigroup": "fleet-operator"} {
		for _, all := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s all=%v", source, all), func(t *testing.T) {
				p := &project{t, t.TempDir(), name}
				if err := os.CopyFS(p.dir, os.DirFS(filepath.Join("..", "..", "testdata", source))); err != nil {
					t.Fatal(err)
				}
				if all {
					p.listComponents()
				}
				p.kctrl("build", "chart", "--image", image, "--version", "2.0.0")
				run(t, p)
			})
		}
	}
}

// listComponents lists every component in config/default.
func (p *project) listComponents() {
	p.Helper()
	entries, err := os.ReadDir(filepath.Join(p.dir, "config", "components"))
	if err != nil {
		p.Fatal(err)
	}
	file := filepath.Join(p.dir, "config", "default", "kustomization.yaml")
	content, err := os.ReadFile(file)
	if err != nil {
		p.Fatal(err)
	}
	var list []string
	for _, entry := range entries {
		list = append(list, "../components/"+entry.Name())
	}
	before, _, found := strings.Cut(string(content), "components: [")
	if !found {
		p.Fatalf("no list of components in\n%s", content)
	}
	if err := os.WriteFile(file, []byte(before+"components: ["+strings.Join(list, ", ")+"]\n"), 0o644); err != nil {
		p.Fatal(err)
	}
}

func (p *project) kctrl(args ...string) []byte {
	p.Helper()
	command := os.Getenv("KCTRL")
	if command == "" {
		p.Fatal("set KCTRL to the path of kctrl, or run make test-chart")
	}
	cmd := exec.Command(command, append([]string{"-C", p.dir}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		p.Fatalf("kctrl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// objects are manifests by kind, namespace and name.
type objects map[string]*unstructured.Unstructured

func (p *project) parse(content []byte) objects {
	p.Helper()
	all := objects{}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			p.Fatalf("%v in\n%s", err, content)
		}
		if len(object.Object) == 0 {
			continue
		}
		key := object.GetAPIVersion() + " " + object.GetKind() + " " + object.GetNamespace() + " " + object.GetName()
		if all[key] != nil {
			p.Errorf("duplicate object %s", key)
		}
		all[key] = object
	}
}

// built returns the objects that kustomize builds, except the Namespace, which Helm creates.
func (p *project) built() objects {
	p.Helper()
	all := p.parse(p.kctrl("build", "installer", "--image", image, "--file", "-"))
	maps.DeleteFunc(all, func(_ string, o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" })
	return all
}

// rendered returns the objects that Helm installs.
func (p *project) rendered(namespace string, values map[string]any) objects {
	p.Helper()
	all, err := p.render(namespace, values)
	if err != nil {
		p.Fatal(err)
	}
	return all
}

func (p *project) render(namespace string, values map[string]any) (objects, error) {
	p.Helper()
	c, err := loader.Load(filepath.Join(p.dir, "dist", "chart"))
	if err != nil {
		return nil, err
	}
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "release", Namespace: namespace,
		Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	installed := objects{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.Ext(name) == ".yaml" {
			maps.Copy(installed, p.parse([]byte(files[name])))
		}
	}
	return installed, nil
}

// like replaces Helm's labels with kustomize's labels, and removes Helm's resource policy.
func like(all objects) objects {
	for _, o := range all {
		for _, path := range [][]string{{"metadata", "labels"}, {"spec", "template", "metadata", "labels"}} {
			if labels, found, _ := unstructured.NestedStringMap(o.Object, path...); found &&
				labels["app.kubernetes.io/managed-by"] == "Helm" {
				labels["app.kubernetes.io/managed-by"] = "kustomize"
				_ = unstructured.SetNestedStringMap(o.Object, labels, path...)
			}
		}
		annotations := o.GetAnnotations()
		delete(annotations, "helm.sh/resource-policy")
		o.SetAnnotations(annotations)
	}
	return all
}

// same fails the test for each difference.
func (p *project) same(got, want objects) {
	p.Helper()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] == nil {
			p.Errorf("the chart has no %s", key)
			continue
		}
		a, b := yamlOf(p.T, without(got[key])), yamlOf(p.T, without(want[key]))
		if a != b {
			p.Errorf("%s differs:\n%s", key, firstDifference(b, a))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if want[key] == nil {
			p.Errorf("only the chart has %s", key)
		}
	}
}

// without returns an object without empty mappings and lists, which mean the same as missing ones.
func without(o *unstructured.Unstructured) map[string]any {
	var clean func(value any) any
	clean = func(value any) any {
		switch v := value.(type) {
		case map[string]any:
			for key, item := range v {
				if item = clean(item); item == nil {
					delete(v, key)
				}
			}
			if len(v) == 0 {
				return nil
			}
		case []any:
			for i := range v {
				v[i] = clean(v[i])
			}
			if len(v) == 0 {
				return nil
			}
		}
		return value
	}
	content, _ := clean(o.DeepCopy().Object).(map[string]any)
	return content
}

func yamlOf(t *testing.T, value any) string {
	t.Helper()
	text, err := syaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n  kustomize: %s\n  chart:     %s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(a), len(b))
}

// TestChartMatchesKustomize compares the chart with default values and the output of kustomize, object by object.
func TestChartMatchesKustomize(t *testing.T) {
	projects(t, func(t *testing.T, p *project) {
		p.same(like(p.rendered(p.name+"-system", nil)), p.built())
	})
}

// values returns a mapping with one value at a path.
func values(path string, value any) map[string]any {
	all := map[string]any{}
	if err := unstructured.SetNestedField(all, value, strings.Split(path, ".")...); err != nil {
		panic(err)
	}
	return all
}

// manager returns the Deployment of the manager, its pods' spec and its container.
func manager(all objects) (deployment *unstructured.Unstructured, pod, container map[string]any) {
	for _, o := range all {
		if o.GetKind() == "Deployment" && o.GetLabels()["control-plane"] == "controller-manager" {
			pod, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
			return o, pod, pod["containers"].([]any)[0].(map[string]any)
		}
	}
	return nil, nil, nil
}

func setPod(o *unstructured.Unstructured, pod, container map[string]any) {
	pod["containers"].([]any)[0] = container
	_ = unstructured.SetNestedMap(o.Object, pod, "spec", "template", "spec")
}

// TestValuesChangeTheirFields compares the chart with one changed value and the output of kustomize with the same
// change applied by hand.
func TestValuesChangeTheirFields(t *testing.T) {
	drop := func(is func(*unstructured.Unstructured) bool) func(objects) {
		return func(all objects) {
			maps.DeleteFunc(all, func(_ string, o *unstructured.Unstructured) bool { return is(o) })
		}
	}
	inPod := func(key string, value any) func(objects) {
		return func(all objects) {
			o, pod, container := manager(all)
			pod[key] = value
			setPod(o, pod, container)
		}
	}
	inContainer := func(change func(map[string]any)) func(objects) {
		return func(all objects) {
			o, pod, container := manager(all)
			change(container)
			setPod(o, pod, container)
		}
	}
	toleration := []any{map[string]any{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}}
	for name, test := range map[string]struct {
		values map[string]any
		change func(objects)
	}{
		"replicas": {values("manager.replicas", int64(3)), func(all objects) {
			o, _, _ := manager(all)
			_ = unstructured.SetNestedField(o.Object, int64(3), "spec", "replicas")
		}},
		"tag": {values("manager.image.tag", "v9"), inContainer(func(c map[string]any) {
			c["image"] = strings.Replace(
				c["image"].(string), ":v1.2.3", ":v9", 1)
		})},
		"no tag": {values("manager.image.tag", ""), inContainer(func(c map[string]any) {
			c["image"] = strings.Replace(
				c["image"].(string), ":v1.2.3", ":2.0.0", 1)
		})},
		"digest": {values("manager.image.digest", "sha256:"+strings.Repeat("a", 64)), inContainer(func(c map[string]any) {
			c["image"] = strings.Replace(c["image"].(string), ":v1.2.3", "@sha256:"+strings.Repeat("a", 64), 1)
		})},
		"pull policy": {values("manager.image.pullPolicy", "Always"),
			inContainer(func(c map[string]any) { c["imagePullPolicy"] = "Always" })},
		"resources": {values("manager.resources", map[string]any{"limits": map[string]any{"cpu": "2"}, "requests": nil}),
			inContainer(func(c map[string]any) {
				limits, _, _ := unstructured.NestedMap(c, "resources", "limits")
				limits["cpu"] = "2"
				c["resources"] = map[string]any{"limits": limits}
			})},
		"tolerations":   {values("manager.tolerations", toleration), inPod("tolerations", toleration)},
		"node selector": {values("manager.nodeSelector.disk", "ssd"), inPod("nodeSelector", map[string]any{"disk": "ssd"})},
		"affinity": {values("manager.affinity.nodeAffinity", map[string]any{"x": "{{ no template }}"}),
			inPod("affinity", map[string]any{"nodeAffinity": map[string]any{"x": "{{ no template }}"}})},
		"pull secrets": {values("manager.imagePullSecrets", []any{map[string]any{"name": "mine"}}),
			inPod("imagePullSecrets", []any{map[string]any{"name": "mine"}})},
		"priority": {values("manager.priorityClassName", "system-cluster-critical"),
			inPod("priorityClassName", "system-cluster-critical")},
		"arguments": {values("manager.extraArgs", []any{"--log-level=debug"}), inContainer(func(c map[string]any) {
			args, _ := c["args"].([]any)
			c["args"] = append(args, "--log-level=debug")
		})},
		"environment": {values("manager.extraEnv", []any{map[string]any{"name": "A", "value": "1"}}),
			inContainer(func(c map[string]any) {
				env, _ := c["env"].([]any)
				c["env"] = append(env, map[string]any{"name": "A", "value": "1"})
			})},
		"pod labels": {values("manager.podLabels.mine", "yes"), func(all objects) {
			o, _, _ := manager(all)
			_ = unstructured.SetNestedField(o.Object, "yes", "spec", "template", "metadata", "labels", "mine")
		}},
		"pod annotations": {values("manager.podAnnotations.mine", "yes"), func(all objects) {
			o, _, _ := manager(all)
			_ = unstructured.SetNestedField(o.Object, "yes", "spec", "template", "metadata", "annotations", "mine")
		}},
		"no CRDs": {values("crds.install", false),
			drop(func(o *unstructured.Unstructured) bool { return o.GetKind() == "CustomResourceDefinition" })},
		"no roles for users": {values("userRoles.create", false), drop(func(o *unstructured.Unstructured) bool {
			return o.GetKind() == "ClusterRole" && slices.ContainsFunc([]string{"-admin-role", "-editor-role", "-viewer-role"},
				func(end string) bool { return strings.HasSuffix(o.GetName(), end) })
		})},
		"no account": {values("serviceAccount", map[string]any{"create": false, "name": "theirs"}), func(all objects) {
			own := ""
			maps.DeleteFunc(all, func(_ string, o *unstructured.Unstructured) bool {
				if o.GetKind() == "ServiceAccount" {
					own = o.GetName()
				}
				return o.GetKind() == "ServiceAccount"
			})
			inPod("serviceAccountName", "theirs")(all)
			for _, o := range all {
				subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
				for _, s := range subjects {
					if s := s.(map[string]any); s["name"] == own && s["kind"] == "ServiceAccount" {
						s["name"] = "theirs"
					}
				}
				if subjects != nil {
					_ = unstructured.SetNestedSlice(o.Object, subjects, "subjects")
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			projects(t, func(t *testing.T, p *project) {
				want := p.built()
				test.change(want)
				p.same(like(p.rendered(p.name+"-system", test.values)), want)
			})
		})
	}
}

// TestAnotherNamespaceAndName checks that another release name and namespace change all names and references, and
// nothing else.
func TestAnotherNamespaceAndName(t *testing.T) {
	projects(t, func(t *testing.T, p *project) {
		text := string(p.kctrl("build", "installer", "--image", image, "--file", "-"))
		text = strings.ReplaceAll(text, p.name+"-system", "@@namespace@@")
		for _, object := range p.built() {
			secret, _, _ := unstructured.NestedString(object.Object, "spec", "secretName")
			for _, name := range []string{object.GetName(), secret} {
				if rest, ok := strings.CutPrefix(name, p.name+"-"); ok {
					text = strings.ReplaceAll(text, name, "short-"+rest)
				}
			}
		}
		want := p.parse([]byte(strings.ReplaceAll(text, "@@namespace@@", "elsewhere")))
		maps.DeleteFunc(want, func(_ string, o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" })
		p.same(like(p.rendered("elsewhere", values("nameOverride", "short"))), want)
	})
}

// TestRandomValuesRender sets random switches and lists. The chart must render and pass Helm's checks, and every
// reference must have a target.
func TestRandomValuesRender(t *testing.T) {
	projects(t, func(t *testing.T, p *project) {
		defaults, err := chartutil.ReadValuesFile(filepath.Join(p.dir, "dist", "chart", "values.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(30) {
			r := rand.New(rand.NewPCG(seed, 1))
			chosen := chosenSwitches(r, defaults)
			all, err := p.render("somewhere", chosen)
			if err != nil {
				t.Fatalf("seed %d, %v: %v", seed, chosen, err)
			}
			p.checkReferences(fmt.Sprintf("seed %d, %v", seed, chosen), all)
			for _, m := range lint.All(filepath.Join(p.dir, "dist", "chart"), chosen, "somewhere", true).Messages {
				if m.Severity > support.InfoSev {
					t.Errorf("seed %d, %v: helm lint: %s", seed, chosen, m)
				}
			}
		}
	})
}

func chosenSwitches(r *rand.Rand, defaults map[string]any) map[string]any {
	chosen := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(defaults)) {
		section, ok := defaults[key].(map[string]any)
		if !ok {
			continue
		}
		for _, option := range slices.Sorted(maps.Keys(section)) {
			if _, is := section[option].(bool); is {
				_ = unstructured.SetNestedField(chosen, r.IntN(2) == 0, key, option)
			}
		}
	}
	return chosen
}

// checkReferences fails the test if a bound role or a called Service is missing.
func (p *project) checkReferences(where string, all objects) {
	p.Helper()
	exist := map[string]bool{}
	for _, o := range all {
		exist[o.GetKind()+" "+o.GetName()] = true
	}
	for _, o := range all {
		if strings.HasSuffix(o.GetKind(), "RoleBinding") {
			kind, _, _ := unstructured.NestedString(o.Object, "roleRef", "kind")
			name, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
			if !exist[kind+" "+name] {
				p.Errorf("%s: %s binds the %s %s, which does not exist", where, o.GetName(), kind, name)
			}
		}
		webhooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		for _, w := range webhooks {
			name, _, _ := unstructured.NestedString(w.(map[string]any), "clientConfig", "service", "name")
			if !exist["Service "+name] {
				p.Errorf("%s: %s calls the Service %s, which does not exist", where, o.GetName(), name)
			}
		}
	}
}

// TestUserTemplatesStay checks that a user's template still renders after kctrl has rewritten the chart.
func TestUserTemplatesStay(t *testing.T) {
	projects(t, func(t *testing.T, p *project) {
		file := filepath.Join(p.dir, "dist", "chart", "templates", "mine.yaml")
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include \"" + p.name + ".prefix\" . }}-mine\n"
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		p.kctrl("build", "chart", "--image", image, "--version", "2.0.1")
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			t.Fatal("kctrl removed the user's template")
		}
		if all := p.rendered("somewhere", nil); all["v1 ConfigMap  "+p.name+"-mine"] == nil {
			t.Errorf("no ConfigMap of the user's template: %v", slices.Sorted(maps.Keys(all)))
		}
	})
}
