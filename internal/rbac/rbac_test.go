package rbac

import (
	"go/token"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kctrl-dev/kctrl/internal/access"
)

func TestRulesCoverNamesAndNamespaces(t *testing.T) {
	secret := access.Resource{Name: "secrets"}
	rules := func(r rule) *comparison {
		r.groups, r.resources, r.verbs = []string{""}, []string{"secrets"}, []string{"*"}
		return &comparison{rules: []rule{r}}
	}
	for name, test := range map[string]struct {
		rule   rule
		access access.Access
		want   verdict
	}{
		"cluster role":         {rule{}, access.Access{Verb: "get"}, granted},
		"name":                 {rule{names: []string{"a"}}, access.Access{Verb: "get", Names: []string{"a"}}, granted},
		"other name":           {rule{names: []string{"a"}}, access.Access{Verb: "get", Names: []string{"b"}}, denied},
		"unknown name":         {rule{names: []string{"a"}}, access.Access{Verb: "get"}, unclear},
		"create by name":       {rule{names: []string{"a"}}, access.Access{Verb: "create"}, denied},
		"apply by name":        {rule{names: []string{"a"}}, access.Access{Verb: "create", Names: []string{"a"}}, granted},
		"list by name":         {rule{names: []string{"a"}}, access.Access{Verb: "list"}, unclear},
		"namespace":            {rule{namespace: "x"}, access.Access{Verb: "get", Namespace: "x"}, granted},
		"other namespace":      {rule{namespace: "x"}, access.Access{Verb: "get", Namespace: "y"}, denied},
		"unknown namespace":    {rule{namespace: "x"}, access.Access{Verb: "get"}, unclear},
		"cluster-scoped":       {rule{namespace: "x"}, access.Access{Verb: "get", Scope: access.ScopeCluster}, denied},
		"namespace of the pod": {rule{namespace: "x"}, access.Access{Verb: "get", Namespace: access.PodNamespace}, granted},
	} {
		test.access.Resource = secret
		if got, why := rules(test.rule).judge(test.access); got != test.want {
			t.Errorf("%s: got %d (%s), want %d", name, got, why, test.want)
		}
	}
}

func TestRulesMatchWildcards(t *testing.T) {
	status := access.Resource{Group: "apps", Name: "deployments/status"}
	for _, test := range []struct {
		rule rule
		want bool
	}{
		{rule{groups: []string{"apps"}, resources: []string{"deployments/status"}, verbs: []string{"patch"}}, true},
		{rule{groups: []string{"*"}, resources: []string{"*"}, verbs: []string{"*"}}, true},
		{rule{groups: []string{"apps"}, resources: []string{"*/status"}, verbs: []string{"patch"}}, true},
		{rule{groups: []string{"apps"}, resources: []string{"deployments"}, verbs: []string{"patch"}}, false},
		{rule{groups: []string{"batch"}, resources: []string{"*"}, verbs: []string{"*"}}, false},
	} {
		if got := test.rule.grants(status, "patch"); got != test.want {
			t.Errorf("%v grants patch on %s: %t, want %t", test.rule, status, got, test.want)
		}
	}
}

func TestOptionalRequestsAreNeitherMissingNorInExcess(t *testing.T) {
	patch := access.Access{Verb: "patch", Resource: access.Resource{Name: "events"}, Optional: true}
	granting := rule{groups: []string{""}, resources: []string{"events"}, verbs: []string{"patch"}, marker: &marker{}}
	for name, rules := range map[string][]rule{"granted": {granting}, "not granted": nil} {
		c := &comparison{accesses: []access.Access{patch}, rules: rules, needed: map[permission][]access.Access{}}
		c.index()
		if found := append(c.missing(), c.excess()...); len(found) > 0 {
			t.Errorf("%s: %+v", name, found)
		}
		if needs := c.needs(); len(needs) > 0 {
			t.Errorf("%s: needs %+v", name, needs)
		}
	}
}

func TestPermissionsOfProxiesAreUnproven(t *testing.T) {
	proxy := rule{groups: []string{""}, resources: []string{"services/proxy", "pods/proxy"}, verbs: []string{"get"},
		marker: &marker{}}
	c := &comparison{rules: []rule{proxy}, needed: map[permission][]access.Access{}}
	found := c.excess()
	if len(found) != 1 || found[0].Class != Unproven || len(found[0].More) != 1 {
		t.Errorf("found %+v, want one unproven finding about two resources", found)
	}
}

func TestEditKeepsOtherBytes(t *testing.T) {
	const before = "package p\n\n" +
		"// +kubebuilder:rbac:groups=apps;batch,resources=jobs;deployments,verbs=\"get;list;delete\"\n" +
		"// +kubebuilder:rbac:groups=\"\",resources=pods,verbs={get,list}\n" +
		"//  a comment\n\nfunc f() {}\n"
	const want = "package p\n\n" +
		"// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get\n" +
		"// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list\n" +
		"// +kubebuilder:rbac:groups=\"\",resources=pods,verbs=get;list;delete\n" +
		"// +kubebuilder:rbac:groups=\"\",namespace=x,resources=secrets,verbs=get\n" +
		"//  a comment\n\nfunc f() {}\n"
	first := &marker{pos: token.Position{Filename: "p.go", Line: 3, Column: 4}, offset: 14}
	second := &marker{
		pos: token.Position{Filename: "p.go", Line: 4, Column: 4}, offset: strings.LastIndex(before, "+kubebuilder"),
	}
	both := rule{groups: []string{"apps", "batch"}, resources: []string{"jobs", "deployments"},
		verbs: []string{"get", "list", "delete"}, marker: first}
	pods := rule{groups: []string{""}, resources: []string{"pods"}, verbs: []string{"get", "list"}, marker: second}
	call := access.Site{Pos: token.Position{Filename: "p.go", Line: 7}}
	report := &Report{markers: []rule{both, pods}, Findings: []Finding{
		{Class: Excess, marker: first, keep: map[access.Resource][]string{
			{Group: "apps", Name: "deployments"}: {"get"}, {Group: "batch", Name: "jobs"}: {"get", "list"},
		}},
		{Class: Missing, Sites: []access.Site{call},
			adds: &rule{groups: []string{""}, resources: []string{"pods"}, verbs: []string{"delete"}}},
		{Class: Missing, Sites: []access.Site{call},
			adds: &rule{groups: []string{""}, resources: []string{"secrets"}, verbs: []string{"get"}, namespace: "x"}},
	}}
	read := func(string) ([]byte, error) { return []byte(before), nil }
	files, err := Edit(report, read)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(files["p.go"]); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestEditRemovesAndInsertsMarkers(t *testing.T) {
	const before = "package p\n\n// +kubebuilder:rbac:groups=\"\",resources=pods,verbs=get\n\n// F reads.\nfunc F() {}\n"
	pods := rule{groups: []string{""}, resources: []string{"pods"}, verbs: []string{"get"},
		marker: &marker{pos: token.Position{Filename: "p.go", Line: 3}, offset: 14}}
	adds := &rule{groups: []string{"apps"}, resources: []string{"deployments"}, verbs: []string{"get"}}
	report := &Report{markers: []rule{pods}, Findings: []Finding{
		{Class: Excess, marker: pods.marker},
		{Class: Missing, adds: adds, Sites: []access.Site{{Pos: token.Position{Filename: "q.go", Line: 6}}}},
	}}
	files, err := Edit(report, func(string) ([]byte, error) { return []byte(before), nil })
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(files["p.go"]), "package p\n\n\n// F reads.\nfunc F() {}\n"; got != want {
		t.Errorf("p.go: got\n%s\nwant\n%s", got, want)
	}
	want := "package p\n\n// +kubebuilder:rbac:groups=\"\",resources=pods,verbs=get\n\n" +
		"// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get\n\n// F reads.\nfunc F() {}\n"
	if got := string(files["q.go"]); got != want {
		t.Errorf("q.go: got\n%s\nwant\n%s", got, want)
	}
}

func TestOnlyBoundRolesOfServiceAccountsCount(t *testing.T) {
	const rules = "\nrules:\n- {apiGroups: [''], resources: [secrets], verbs: [get]}\n"
	const binding = "---\nkind: RoleBinding\nroleRef: {kind: Role, name: bound}\n" +
		"subjects:\n- {kind: ServiceAccount, name: manager}\n"
	fsys := fstest.MapFS{
		"config/rbac/bound.yaml":         {Data: []byte("kind: Role\nmetadata: {name: bound}" + rules + binding)},
		"config/rbac/loose.yaml":         {Data: []byte("kind: Role\nmetadata: {name: loose}" + rules)},
		"config/crd/ignored.yaml":        {Data: []byte("{{ template")},
		"config/auth/kustomization.yaml": {Data: []byte("resources:\n- listed.yaml\n# - metrics.yaml\n")},
		"config/auth/listed.yaml":        {Data: []byte("kind: ConfigMap\n")},
		"config/auth/metrics.yaml":       {Data: []byte("kind: Role\nmetadata: {name: bound}" + rules + binding)},
	}
	config, err := readConfig(fsys)
	if err != nil {
		t.Fatal(err)
	}
	if found := config.bound("manager-role"); len(found) != 1 || found[0].namespace != access.PodNamespace {
		t.Errorf("got %v; want the rule of the bound role in config/rbac", found)
	}
}

func TestBindingDecidesWhereAClusterRoleCounts(t *testing.T) {
	const role = "kind: ClusterRole\nmetadata: {name: reader}\nrules:\n" +
		"- {apiGroups: [''], resources: [secrets], verbs: [get]}\n"
	for kind, want := range map[string]string{"RoleBinding": access.PodNamespace, "ClusterRoleBinding": ""} {
		binding := "---\nkind: " + kind + "\nroleRef: {kind: ClusterRole, name: reader}\n" +
			"subjects:\n- {kind: ServiceAccount, name: manager}\n"
		config, err := readConfig(fstest.MapFS{"config/role.yaml": {Data: []byte(role + binding)}})
		if err != nil {
			t.Fatal(err)
		}
		if found := config.bound("manager-role"); len(found) != 1 || found[0].namespace != want {
			t.Errorf("%s: got %+v, want namespace %q", kind, found, want)
		}
	}
}

func TestFlagsEnableTheCertificateAuthority(t *testing.T) {
	const deployment = "kind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n      - name: manager\n"
	for name, text := range map[string]string{
		"variable": "        env:\n        - {name: MANAGER_WEBHOOK_TARGETS, value: 'mutating/a,crd/b'}\n",
		"flag":     "        args: [--webhook-targets=mutating/a, '--webhook-targets=crd/b']\n",
	} {
		config, err := readConfig(fstest.MapFS{"config/manager.yaml": {Data: []byte(deployment + text)}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range config.authority {
			got = append(got, a.Verb+" "+a.Resource.String()+" "+strings.Join(a.Names, ","))
			if a.Site.Pos.Filename != "config/manager.yaml" || a.Site.Pos.Line < 7 {
				t.Errorf("%s: position %s", name, a.Site.Pos)
			}
		}
		for _, want := range []string{
			"create secrets ", "update secrets webhook-certificates",
			"patch mutatingwebhookconfigurations.admissionregistration.k8s.io a",
			"watch customresourcedefinitions.apiextensions.k8s.io b",
		} {
			if !slices.Contains(got, want) {
				t.Errorf("%s: no %q among %v", name, want, got)
			}
		}
	}
}
