package migrate

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// optional is what kubebuilder writes for its optional parts.
const optional = `
-- config/manager/kustomization.yaml --
resources: [manager.yaml]
-- config/manager/manager.yaml --
apiVersion: v1
kind: Service
metadata:
  name: metrics
  namespace: system
-- config/prometheus/kustomization.yaml --
# Scrapes.
resources:
- monitor.yaml

#patches:
#  - path: monitor_tls_patch.yaml
-- config/prometheus/monitor.yaml --
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: monitor
  namespace: system
-- config/network-policy/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- allow.yaml
-- config/network-policy/allow.yaml --
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: allow
  namespace: system
spec:
  podSelector: {}
-- config/default/kustomization.yaml --
`

const ofV4 = `namespace: guestbook-system
namePrefix: guestbook-

resources:
- ../manager
# [PROMETHEUS] To enable prometheus monitor, uncomment all sections with 'PROMETHEUS'.
- ../prometheus
# [METRICS] Expose the controller manager metrics service.
- metrics.yaml
# [NETWORK POLICY] Protect the /metrics endpoint.
# Only some may read it.
#- ../network-policy

patches:
- path: mine.yaml
  target:
    kind: ServiceMonitor
-- config/default/metrics.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: metrics
  namespace: system
-- config/default/mine.yaml --
- op: add
  path: /metadata/labels
  value: {mine: "yes"}
`

func TestOptionalPartsBecomeComponents(t *testing.T) {
	for _, test := range []struct {
		name, files string
		// want is the kustomization of config/default after it, empty where it stays. left are parts of what the report says, in order.
		want string
		left []string
	}{
		{
			name:  "of kubebuilder v4",
			files: ofV4,
			want: `namespace: guestbook-system
namePrefix: guestbook-

resources:
- ../manager
# [METRICS] Expose the controller manager metrics service.
- metrics.yaml

# What not every cluster needs: kctrl edit --enable lists it, --disable takes it off.
components: [../components/prometheus]

patches:
- path: mine.yaml
  target:
    kind: ServiceMonitor
`,
		},
		{
			name: "both listed, as bases were called once",
			files: `namePrefix: a-
bases:
- ../manager
- ../prometheus
- ../network-policy
#- ../mine
`,
			want: `namePrefix: a-
bases:
- ../manager
#- ../mine

# What not every cluster needs: kctrl edit --enable lists it, --disable takes it off.
components: [../components/network-policy, ../components/prometheus]
`,
		},
		{
			name:  "a list in brackets, and components of one's own",
			files: "resources: [../manager, ../prometheus]\ncomponents:\n- ../mine\n-- config/mine/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnameSuffix: -mine\n",
			left:  []string{"config/default would build to something else"},
		},
		{
			name:  "a list in brackets",
			files: "resources: [../manager, ../prometheus]\n",
			want:  "resources: [../manager]\n\n# What not every cluster needs: kctrl edit --enable lists it, --disable takes it off.\ncomponents: [../components/prometheus]\n",
		},
		{
			name:  "line ends of Windows",
			files: "resources:\r\n- ../manager\r\n#- ../prometheus\r\n",
			want:  "resources:\r\n- ../manager\r\n\r\n# What not every cluster needs: kctrl edit --enable lists it, --disable takes it off.\r\ncomponents: []\r\n",
		},
		{
			name:  "named by an overlay",
			files: "resources:\n- ../manager\n- ../prometheus\n-- config/overlay/kustomization.yaml --\n# ../prometheus\nresources:\n- ../prometheus\n",
			left:  []string{"config/overlay/kustomization.yaml:3 names its folder"},
		},
		{
			name:  "named by a Makefile and by a test",
			files: "resources:\n- ../manager\n#- ../prometheus\n- ../network-policy\n-- Makefile --\nx:\n\tkustomize build config/network-policy\n-- a_test.go --\nvar dir = filepath.Join(\"config\", \"prometheus\")\n",
			left:  []string{"Makefile:2 names its folder", "a_test.go:1 names its folder"},
		},
		{
			name:  "what is elsewhere cannot be built",
			files: "resources:\n- ../manager\n- https://example.com/more?ref=v1\n- ../prometheus\n",
			left:  []string{"config/default/kustomization.yaml:3 takes in what is elsewhere"},
		},
		{
			name:  "a resource beside its folder",
			files: "resources:\n- ../manager\n- ../prometheus\n-- config/prometheus/kustomization.yaml --\nresources:\n- monitor.yaml\n- ../shared\n-- config/shared/kustomization.yaml --\nresources: [config.yaml]\n-- config/shared/config.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: shared\n",
			left:  []string{"config/default would not build with it as a component"},
		},
		{
			name:  "one that does not build",
			files: "resources:\n- ../manager\n- ../prometheus\n- missing.yaml\n",
			left:  []string{"config/default does not build"},
		},
		{name: "neither listed nor in a comment", files: "resources:\n- ../manager\n"},
		{name: "no list at all", files: "namePrefix: x-\n#- ../prometheus\n"},
		{name: "no YAML", files: "resources: [\n#- ../prometheus\n"},
		{
			name:  "one there already",
			files: "resources:\n- ../manager\n- ../prometheus\n-- config/components/prometheus/kustomization.yaml --\nkind: Component\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) { becomesComponents(t, test.files, test.want, test.left) })
	}
}

func TestLinksDoNotBecomeComponents(t *testing.T) {
	for _, link := range []string{"config/prometheus/linked.yaml", "config/network-policy"} {
		t.Run(path.Base(link), func(t *testing.T) {
			dir := configOf(t, "resources:\n- ../manager\n- ../"+strings.Split(link, "/")[1]+"\n")
			name := filepath.Join(dir, filepath.FromSlash(link))
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(dir, "config", "manager"), name); err != nil {
				t.Fatal(err)
			}
			m := &migration{plan: plan.New(os.DirFS(dir)), dir: dir, report: &Report{}}
			if err := m.makeComponents(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(m.report.Left) != 1 || !strings.HasSuffix(m.report.Left[0].Reason, link+" is a link, or another file that is no regular one") {
				t.Errorf("left: %v", m.report.Left)
			}
			if c, err := m.plan.Lookup(link); err == nil && c.Op == plan.Delete {
				t.Error("moves a link")
			}
		})
	}
}

// configOf makes a project of files in a folder, and returns the folder.
func configOf(t *testing.T, files string) string {
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(strings.TrimPrefix(optional, "\n") + files)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func becomesComponents(t *testing.T, files, want string, left []string) {
	dir := configOf(t, files)
	m := &migration{plan: plan.New(os.DirFS(dir)), dir: dir, report: &Report{}}
	before, _ := m.build(nil)
	if err := m.makeComponents(t.Context()); err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, l := range m.report.Left {
		reasons = append(reasons, l.Reason)
	}
	if len(reasons) != len(left) {
		t.Fatalf("left: %q, want %q", reasons, left)
	}
	for i := range left {
		if !strings.Contains(reasons[i], left[i]) || strings.Contains(reasons[i], dir) {
			t.Errorf("left: %q, want %q", reasons[i], left[i])
		}
	}
	if want == "" {
		for c := range m.plan.Changes() {
			t.Errorf("changes %s", c.Path)
		}
		return
	}
	if got, err := m.plan.Read("config/default/kustomization.yaml"); err != nil || string(got) != want {
		t.Errorf("config/default is %v\n%s\nwant\n%s", err, got, want)
	}
	if after, err := m.build(nil); err != nil || string(after) != string(before) {
		t.Errorf("builds to %v\n%s\nbefore\n%s", err, after, before)
	}
}
