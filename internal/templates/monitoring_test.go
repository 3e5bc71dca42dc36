package templates

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl"
)

// runtimeMetrics reads the runtime's source and returns the labels of each registered metric, by the metric's name in
// queries.
func runtimeMetrics(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := fs.WalkDir(kctrl.Source, "runtime", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".go" {
			return err
		}
		source, err := fs.ReadFile(kctrl.Source, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		constants := stringConstants(file)
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				addMetric(found, constants, call)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// stringConstants returns the constants of a file that are strings, by their names.
func stringConstants(file *ast.File) map[string]string {
	found := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for i, name := range spec.Names {
				if i < len(spec.Values) {
					if value, ok := literal(nil, spec.Values[i]); ok {
						found[name.Name] = value
					}
				}
			}
		}
		return true
	})
	return found
}

func literal(constants map[string]string, expr ast.Expr) (string, bool) {
	switch e := expr.(type) {
	case *ast.Ident:
		value, ok := constants[e.Name]
		return value, ok
	case *ast.BasicLit:
		value, err := strconv.Unquote(e.Value)
		return value, err == nil && e.Kind == token.STRING
	}
	return "", false
}

// addMetric records the metric that a call registers: the arguments are the name, the help and the labels.
func addMetric(found map[string][]string, constants map[string]string, call *ast.CallExpr) {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) < 2 {
		return
	}
	labelsAt, known := map[string]int{"Counter": 2, "Gauge": 2, "Histogram": 3, "GaugeFunc": 3,
		"CounterFunc": 3}[selector.Sel.Name]
	name, named := literal(constants, call.Args[0])
	if !known || !named {
		return
	}
	var labels []string
	for _, arg := range call.Args[min(labelsAt, len(call.Args)):] {
		if label, ok := literal(constants, arg); ok {
			labels = append(labels, label)
		}
	}
	if selector.Sel.Name != "Histogram" {
		found[name] = labels
		return
	}
	found[name+"_sum"], found[name+"_count"], found[name+"_bucket"] = labels, labels, append(slices.Clone(labels), "le")
}

// targetLabels are the labels that Prometheus adds to collected metrics.
var targetLabels = []string{"job", "namespace", "pod", "service", "instance"}

var (
	selectorOf = regexp.MustCompile(`([a-z][a-z0-9_]+)\{([^}]*)\}`)
	labelOf    = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"`)
	groupedBy  = regexp.MustCompile(`by \(([^)]*)\)`)
	shownLabel = regexp.MustCompile(`\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}`)
)

// checkQuery fails the test if a query, or the text that shows labels of its result, uses a metric or label that the
// runtime does not have.
func checkQuery(t *testing.T, metrics map[string][]string, query, shown string) {
	t.Helper()
	selectors := selectorOf.FindAllStringSubmatch(query, -1)
	if len(selectors) == 0 {
		t.Errorf("%s asks for no metric", query)
	}
	for _, s := range selectors {
		name, labels := s[1], slices.Clone(targetLabels)
		if name != "up" { // Prometheus' own metric
			own, ok := metrics[name]
			if !ok {
				t.Errorf("the runtime has no metric %s", name)
				continue
			}
			labels = append(labels, own...)
		}
		used := map[string]bool{}
		for _, l := range labelOf.FindAllStringSubmatch(s[2], -1) {
			used[l[1]] = true
		}
		for _, by := range groupedBy.FindAllStringSubmatch(query, -1) {
			for _, label := range strings.Split(by[1], ",") {
				used[strings.TrimSpace(label)] = true
			}
		}
		for _, l := range shownLabel.FindAllStringSubmatch(shown, -1) {
			used[l[1]] = true
		}
		for label := range maps.Keys(used) {
			if !slices.Contains(labels, label) {
				t.Errorf("%s has no label %s, in %s", name, label, query)
			}
		}
	}
	for _, by := range groupedBy.FindAllStringSubmatch(query, -1) {
		for _, l := range shownLabel.FindAllStringSubmatch(shown, -1) {
			if !strings.Contains(by[1], l[1]) {
				t.Errorf("%q shows %s, which %s does not keep", shown, l[1], query)
			}
		}
	}
}

func renderProjectFile(t *testing.T, file string) []byte {
	t.Helper()
	view := ProjectView{Name: "guestbook", Domain: "example.com", Repo: "example.com/guestbook"}
	for _, template := range Project() {
		if template.Path(view) == file {
			content, err := template.Render(view)
			if err != nil {
				t.Fatal(err)
			}
			return content
		}
	}
	t.Fatalf("a project has no %s", file)
	return nil
}

// TestDashboardShowsMetricsThatAreThere checks the metrics and labels of the dashboard.
func TestDashboardShowsMetricsThatAreThere(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(renderProjectFile(t, "config/components/grafana/dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	metrics := runtimeMetrics(t)
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			checkQuery(t, metrics, target.Expr, target.LegendFormat)
		}
	}
	if len(dashboard.Panels) == 0 {
		t.Error("the dashboard shows nothing")
	}
}

// TestAlertsAreAboutMetricsThatAreThere checks the metrics and labels of the alerts.
func TestAlertsAreAboutMetricsThatAreThere(t *testing.T) {
	var alerts struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert, Expr string
					Annotations map[string]string
				}
			}
		}
	}
	if err := yaml.Unmarshal(renderProjectFile(t, "config/components/prometheus/alerts.yaml"), &alerts); err != nil {
		t.Fatal(err)
	}
	metrics := runtimeMetrics(t)
	names := map[string]bool{}
	for _, group := range alerts.Spec.Groups {
		for _, rule := range group.Rules {
			checkQuery(t, metrics, rule.Expr, rule.Annotations["summary"])
			if names[rule.Alert] || rule.Annotations["summary"] == "" {
				t.Errorf("the alert %s is there twice, or says nothing", rule.Alert)
			}
			names[rule.Alert] = true
		}
	}
	if len(names) == 0 {
		t.Error("there are no alerts")
	}
}
