package kctrl_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// metric is a metric that the runtime registers.
type metric struct {
	name, kind, help string
	labels           []string
}

// metricKinds are the methods of metrics.Registry that register a metric, with the types of their results.
var metricKinds = map[string]string{
	"Counter": "counter", "CounterFunc": "counter", "Gauge": "gauge", "GaugeFunc": "gauge", "Histogram": "histogram",
}

// metricGroups are the sections of docs/metrics.md, selected by the prefix of a metric's name. The last section
// contains all other metrics.
var metricGroups = []struct{ title, prefixes string }{
	{"Controllers",
		"controller_runtime_reconcile|controller_runtime_terminal|controller_runtime_active|controller_runtime_max|" +
			"kctrl_reconcile|controller_started"},
	{"Work queues", "workqueue_"},
	{"Informers and caches", "informer_|kctrl_cache_"},
	{"Events", "kctrl_events_"},
	{"Webhooks and certificates", "controller_runtime_webhook_|certwatcher_"},
	{"Clients and leader election", "rest_client_|leader_election_"},
	{"Process", ""},
}

// TestMetricsReference compares docs/metrics.md with the metrics that the runtime registers, the alerts of a new
// project and the actions in chapter 9 of the guide. With -update it writes the page.
func TestMetricsReference(t *testing.T) {
	const page = "docs/metrics.md"
	want := metricsPage(t)
	if *update {
		write(t, page, want)
	}
	if have, err := os.ReadFile(page); err != nil || string(have) != want {
		t.Errorf("%s is out of date (%v); run go test . -run %s -update", page, err, t.Name())
	}
}

func metricsPage(t *testing.T) string {
	var out strings.Builder
	out.WriteString(`# Metrics

This page lists the metrics that a manager serves, and the alerts on them.
[Chapter 9 of the guide](guide/09-production.md#metrics) explains how to serve metrics and how to add your own.
`)
	rest := registeredMetrics(t)
	for _, group := range metricGroups {
		prefix := regexp.MustCompile("^(" + group.prefixes + ")")
		fmt.Fprintf(&out, "\n## %s\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n", group.title)
		for _, m := range rest {
			if prefix.MatchString(m.name) {
				fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", m.name, m.kind, strings.Join(m.labels, ", "), m.help)
			}
		}
		rest = slices.DeleteFunc(rest, func(m metric) bool { return prefix.MatchString(m.name) })
	}
	return out.String() + alertTable(t)
}

// registeredMetrics returns the metrics in the sources of the runtime, sorted by name.
func registeredMetrics(t *testing.T) (all []metric) {
	t.Helper()
	for _, src := range sources(t) {
		if src.test || !in(src, []string{"runtime"}) {
			continue
		}
		texts := stringConstants(src.file)
		ast.Inspect(src.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if m, ok := registration(call, texts); ok {
					all = append(all, m)
				}
			}
			return true
		})
	}
	slices.SortFunc(all, func(a, b metric) int { return strings.Compare(a.name, b.name) })
	all = slices.CompactFunc(all, func(a, b metric) bool { return a.name == b.name })
	if len(all) < 40 {
		t.Errorf("found only %d metrics", len(all))
	}
	return all
}

// registration returns the metric that a call registers: a name, a help text, and labels after other arguments.
func registration(call *ast.CallExpr, texts map[string]string) (m metric, ok bool) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || metricKinds[method.Sel.Name] == "" || len(call.Args) < 2 {
		return m, false
	}
	var found []string
	for _, arg := range call.Args {
		if text := textOf(arg, texts); text != "" {
			found = append(found, text)
		}
	}
	if len(found) < 2 || textOf(call.Args[0], texts) == "" {
		return m, false
	}
	return metric{found[0], metricKinds[method.Sel.Name], strings.ReplaceAll(found[1], "|", `\|`), found[2:]}, true
}

// textOf returns the value of a string literal or constant, empty for other expressions.
func textOf(expr ast.Expr, texts map[string]string) string {
	switch expr := expr.(type) {
	case *ast.BasicLit:
		if expr.Kind == token.STRING {
			text, _ := strconv.Unquote(expr.Value)
			return text
		}
	case *ast.Ident:
		return texts[expr.Name]
	}
	return ""
}

// stringConstants returns the string constants of a file, local ones included.
func stringConstants(file *ast.File) map[string]string {
	texts := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for i, name := range spec.Names {
				if i < len(spec.Values) {
					texts[name.Name] = textOf(spec.Values[i], nil)
				}
			}
		}
		return true
	})
	return texts
}

var (
	alertRule   = regexp.MustCompile(`(?s)- alert: (\w+)\n\s+expr: >-\n(.*?)\n\s+for:`)
	alertAction = regexp.MustCompile("(?m)^\\| `(Operator\\w+)` \\| (.*) \\|$")
	metricName  = regexp.MustCompile(`\bup\b|\b[a-z]+(?:_[a-z]+){2,}`)
)

// alertTable returns the alerts of a new project, with the actions in the guide.
func alertTable(t *testing.T) string {
	t.Helper()
	actions := map[string]string{}
	for _, m := range alertAction.FindAllStringSubmatch(read(t, guide+"/09-production.md"), -1) {
		actions[m[1]] = m[2]
	}
	var out strings.Builder
	out.WriteString("\n## Alerts\n\n`config/components/prometheus/alerts.yaml` of a project contains these alerts.\n\n" +
		"| alert | metrics | action |\n|---|---|---|\n")
	rules := alertRule.FindAllStringSubmatch(read(t, "testdata/project/config/components/prometheus/alerts.yaml"), -1)
	for _, m := range rules {
		if actions[m[1]] == "" {
			t.Errorf("%s/09-production.md has no action for the alert %s", guide, m[1])
		}
		names := slices.Compact(slices.Sorted(slices.Values(metricName.FindAllString(m[2], -1))))
		fmt.Fprintf(&out, "| %s | `%s` | %s |\n", m[1], strings.Join(names, "`, `"), actions[m[1]])
	}
	if len(rules) < 9 {
		t.Errorf("found only %d alerts", len(rules))
	}
	return out.String()
}
