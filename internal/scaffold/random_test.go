package scaffold_test

import (
	"bytes"
	"errors"
	"go/format"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/afero"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
)

// randomProject is an in-memory project that random commands change. It has only those generated files that
// kustomizations list.
type randomProject struct {
	*testing.T
	fs      afero.Fs
	commits map[version][]byte
}

// version identifies a version of a file by its hash, like version control.
type version struct{ name, sum string }

// commit stores the current files in version control.
func (p *randomProject) commit() {
	p.Helper()
	for name, content := range p.tree() {
		content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
		p.commits[version{name, hashOf(content)}] = content
	}
}

func (p *randomProject) committed(name, sum string) ([]byte, bool, error) {
	content, found := p.commits[version{name, sum}]
	return content, found, nil
}

// plan plans a command with the files in version control.
func (p *randomProject) plan(opts any) (*plan.Plan, error) {
	p.Helper()
	switch o := opts.(type) {
	case change:
		o.Base = p.committed
		opts = o
	case renaming:
		o.Base = p.committed
		opts = o
	case upgrading:
		o.base = p.committed
		opts = o
	}
	return planOf(afero.NewIOFS(p.fs), p.load(), opts)
}

func newRandomProject(t *testing.T, r *rand.Rand) *randomProject {
	return newMemoryProject(t, scaffold.InitOptions{MultiGroup: r.IntN(2) == 0, Namespaced: r.IntN(4) == 0,
		APIModule: r.IntN(3) == 0})
}

// length returns the number of steps of a random sequence. The average is usual.
func length(r *rand.Rand, usual int) int { return usual/2 + 1 + r.IntN(usual) }

// newMemoryProject returns an in-memory project with the layout and scope of opts.
func newMemoryProject(t *testing.T, opts scaffold.InitOptions) *randomProject {
	t.Helper()
	p := &randomProject{t, afero.NewMemMapFs(), map[version][]byte{}}
	opts.Domain, opts.Repo, opts.License, opts.Year = "example.com", "example.com/guestbook", "none", 2026
	// Omit hundreds of files that never differ.
	opts.Runtime, opts.Kctrl = project.Module, memoryKctrl
	plan, err := scaffold.PlanInit(afero.NewIOFS(p.fs), opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(t.Context(), p.fs, "test"); err != nil {
		t.Fatal(err)
	}
	return p
}

// memoryKctrl is the kctrl that creates in-memory projects.
var memoryKctrl = project.Build{Version: "v1.0.0", Sum: "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}

// run executes a create command, and reports whether the command line was valid here.
func (p *randomProject) run(opts any) bool {
	p.Helper()
	plan, err := p.plan(opts)
	if errors.Is(err, diagnostic.ErrUsage) || err != nil && strings.Contains(err.Error(), "which exists") {
		return false
	}
	if err != nil {
		p.Fatalf("%+v: %v", opts, err)
	}
	if err := plan.Apply(p.Context(), p.fs, "test"); err != nil {
		p.Fatalf("%+v: %v", opts, err)
	}
	return true
}

// wantNothing checks that running a command a second time on unchanged files changes nothing.
func (p *randomProject) wantNothing(opts any) {
	p.Helper()
	plan, err := p.plan(forced(opts))
	if err != nil {
		p.Fatalf("%+v again: %v", opts, err)
	}
	if plan.Len() > 0 {
		p.Fatalf("%+v again changes\n%s", opts, plan.Diff())
	}
}

func forced(opts any) any {
	switch o := opts.(type) {
	case scaffold.APIOptions:
		o.Force = true
		return o
	case scaffold.WebhookOptions:
		o.Force = true
		return o
	case scaffold.ControllerOptions:
		o.Force = true
		return o
	}
	return opts
}

// tree returns all files except the bundled runtime.
func (p *randomProject) tree() map[string][]byte {
	p.Helper()
	tree := map[string][]byte{}
	err := fs.WalkDir(afero.NewIOFS(p.fs), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(name, "third_party/") {
			return err
		}
		tree[name], err = afero.ReadFile(p.fs, name)
		return err
	})
	if err != nil {
		p.Fatal(err)
	}
	return tree
}

// check fails unless all Go files are formatted, all YAML files parse, and config/default and the samples build.
func (p *randomProject) check() {
	p.Helper()
	tree := p.tree()
	disk := filesys.MakeFsInMemory()
	for name, content := range tree {
		switch path.Ext(name) {
		case ".go":
			if bytes.Contains(content, []byte("\r\n")) {
				content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
			}
			if formatted, err := format.Source(content); err != nil || !bytes.Equal(formatted, content) {
				p.Errorf("%s is not formatted: %v\n%s", name, err, content)
			}
		case ".yaml", ".yml":
			if _, err := edit.Documents(content); err != nil {
				p.Errorf("%s: %v", name, err)
			}
			if err := disk.WriteFile("/"+name, content); err != nil {
				p.Fatal(err)
			}
		}
	}
	p.generate(disk)
	for _, dir := range []string{"/config/default", "/config/samples"} {
		if !disk.Exists(dir + "/kustomization.yaml") {
			continue
		}
		if _, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, dir); err != nil {
			p.Errorf("kustomize build %s: %v", dir, err)
		}
	}
}

// generate writes the generated files that kustomize requires.
func (p *randomProject) generate(disk filesys.FileSystem) {
	p.Helper()
	proj, err := project.Load(afero.NewIOFS(p.fs))
	if err != nil {
		p.Fatal(err)
	}
	webhooks := "{}\n"
	for _, r := range proj.Resources {
		if r.API {
			name := r.Plural + "." + r.APIGroup()
			text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: " + name +
				"\nspec: {group: " + r.APIGroup() + "}\n"
			if err := disk.WriteFile("/config/crd/bases/"+r.APIGroup()+"_"+r.Plural+".yaml", []byte(text)); err != nil {
				p.Fatal(err)
			}
		}
		if r.Defaulting || r.Validation {
			webhooks = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata:\n  name: " +
				"validating-webhook-configuration\n"
		}
	}
	if webhooks != "{}\n" {
		if err := disk.WriteFile("/config/webhook/manifests.yaml", []byte(webhooks)); err != nil {
			p.Fatal(err)
		}
	}
}

// randomOptions returns random options of create commands.
func randomOptions(r *rand.Rand) any {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	yes := func() bool { return r.IntN(2) == 0 }
	kind, version := pick("Guestbook", "Shelf", "Client"), pick("v1", "v1", "v2", "v1beta1", "v3")
	requests := render.Requests{
		FailurePolicy: pick("", "fail", "ignore"), NamespaceSelector: pick("", "", "a=b,!c"),
		ObjectSelector:  pick("", "", "a in (b, c)"),
		MatchConditions: [][]string{nil, {"one=object.metadata.name != '`{{.}}`'", "two=1 < 2 && true"}}[r.IntN(2)],
	}
	if r.IntN(2) == 0 {
		requests.Verbs = []string{"create", "delete"}
	}
	rules := [][]string{nil, nil, {`it's {{.}}: "so"=object.metadata.name != oldObject.metadata.name`,
		"b #c=has(object.spec) && \"a=b\" != 'c'"}}[r.IntN(3)]
	switch r.IntN(6) {
	case 0:
		return scaffold.WebhookOptions{
			Group: "webapp", Version: version, Kind: kind, Defaulting: yes(), Validation: yes(), Policy: yes(),
			Conversion: r.IntN(4) == 0, Rules: rules,
			Certificates: pick("", "", project.SelfSigned, project.CertManager), Requests: requests,
		}
	case 5:
		return scaffold.WebhookOptions{
			Group: pick("apps", "core", "networking.k8s.io"), Version: "v1", Kind: pick("Deployment", "Namespace", "Ingress",
				"Client"), Defaulting: yes(),
			Validation: yes(), Policy: yes(), Requests: requests, Namespaced: true, Rules: rules,
		}
	case 1:
		return scaffold.ControllerOptions{Group: "webapp", Version: version, Kind: kind, Name: pick("", "backup", "restore")}
	case 2:
		return scaffold.ControllerOptions{Group: pick("apps", "core", "networking.k8s.io"), Version: "v1",
			Kind: pick("Deployment", "Namespace", "Ingress"), Name: pick("", "other"), Namespaced: true}
	}
	api := scaffold.APIOptions{
		Group: "webapp", Version: version, Kind: kind, Resource: true, Controller: yes(), Namespaced: kind != "Shelf",
		NoConversion: r.IntN(4) == 0, StorageVersion: r.IntN(4) == 0,
	}
	if yes() {
		api.Shape = randomShape(r)
	}
	if r.IntN(4) == 0 {
		api.Operand = &render.Operand{Image: pick("", "example.com/memcached:1"), Port: []int{0, 8080}[r.IntN(2)],
			Finalizer: yes()}
	}
	return api
}

// randomShape returns the flags of create api that describe a kind. Half of the time they describe only its fields;
// such flags are also valid for further versions of a kind.
func randomShape(r *rand.Rand) render.Shape {
	some := func(all ...string) []string {
		return slices.DeleteFunc(all, func(string) bool { return r.IntN(2) == 0 })
	}
	s := render.Shape{
		Fields: some("size:int32,min=1,default=3", "mode:string,enum=Fast|Safe", "template.image:string,optional",
			`note:string,doc="it's {{.}}: \"so\""`,
			"tags:[]string,maxItems=5,unique", "ports:[]object,key=name", "ports[].name:string", "labels:map[string]string",
			"configRef:ref=ConfigMap"),
		StatusFields: some("seen:int32", "since:time,optional"),
	}
	if r.IntN(2) == 0 {
		s.ShortNames, s.Categories, s.Columns = some("gb", "gbs"), some("all"), some("Name:string:.metadata.name")
		s.Scale = []string{"", "default"}[r.IntN(2)]
	}
	return s
}

// edits are typical edits by users.
var edits = map[string]func([]byte) []byte{
	"CRLF":       func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")) },
	"braces":     func(text []byte) []byte { return append(text, "\n// {{ .Resource.Kind }} stays as it is.\n"...) },
	"build tags": func(text []byte) []byte { return append([]byte("//go:build !none\n\n"), text...) },
}

// TestRandomCommandsKeepTheTreeWhole runs random commands in random projects. Repeating an accepted command changes
// nothing, and all written files can be read.
func TestRandomCommandsKeepTheTreeWhole(t *testing.T) {
	seeds.Each(t, 12, func(t *testing.T, seed uint64) {
		t.Parallel()
		r := rand.New(rand.NewPCG(seed, 0))
		p := newRandomProject(t, r)
		for range length(r, 14) {
			opts := randomOptions(r)
			if p.run(opts) {
				p.wantNothing(opts)
			}
		}
		p.check()
	})
}

// TestCommandsLeaveWhatUsersWrote applies each of the edits to the types and the main function, and then runs further
// commands. The edits are kept, except for the marker of the stored version.
func TestCommandsLeaveWhatUsersWrote(t *testing.T) {
	for name, change := range edits {
		t.Run(name, func(t *testing.T) {
			p := newRandomProject(t, rand.New(rand.NewPCG(1, 1)))
			p.run(scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Controller: true,
				Namespaced: true})
			mine := map[string][]byte{}
			for file, text := range p.tree() {
				if strings.HasPrefix(path.Base(file), "guestbook_") && path.Ext(file) == ".go" || file == "cmd/main.go" {
					mine[file] = change(slices.Clone(text))
					if err := afero.WriteFile(p.fs, file, mine[file], 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, opts := range []any{
				scaffold.APIOptions{Group: "webapp", Version: "v2", Kind: "Guestbook", Resource: true, Controller: true},
				scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Defaulting: true},
				scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Validation: true},
				scaffold.ControllerOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Name: "backup"},
			} {
				if !p.run(opts) {
					t.Fatalf("%+v is refused", opts)
				}
			}
			for file, text := range p.tree() {
				marker := "// +kubebuilder:storageversion\n"
				if bytes.Contains(text, []byte("\r\n")) {
					marker = "// +kubebuilder:storageversion\r\n"
				}
				if before, ok := mine[file]; ok && !bytes.Equal(bytes.Replace(text, []byte(marker), nil, 1), before) {
					t.Errorf("%s is\n%q\nand was\n%q", file, text, before)
				}
			}
			p.check()
		})
	}
}

// TestIndependentCommandsCommute runs two commands about different kinds in both orders, and compares the results.
func TestIndependentCommandsCommute(t *testing.T) {
	about := func(kind string) []any {
		return []any{
			scaffold.APIOptions{Group: "webapp", Version: "v2", Kind: kind, Resource: true},
			scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: kind, Defaulting: true},
			scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: kind, Validation: true},
			scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: kind, Policy: true},
			scaffold.ControllerOptions{Group: "webapp", Version: "v1", Kind: kind, Name: strings.ToLower(kind) + "-backup"},
		}
	}
	// These files list items in the order of the commands. PROJECT.lock contains the hashes of these files.
	ordered := []string{"PROJECT", "cmd/zz_generated.register.go", "config/default/kustomization.yaml",
		"config/samples/kustomization.yaml", "config/policy/kustomization.yaml"}
	lines := func(content []byte) []string { return slices.Sorted(strings.Lines(string(content))) }
	for _, a := range about("Guestbook") {
		for _, b := range about("Client") {
			var trees []map[string][]byte
			for _, commands := range [][]any{{a, b}, {b, a}} {
				p := newRandomProject(t, rand.New(rand.NewPCG(2, 2)))
				for _, kind := range []string{"Guestbook", "Client"} {
					p.run(scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: kind, Resource: true, Controller: true,
						Namespaced: true})
				}
				for _, opts := range commands {
					if !p.run(opts) {
						t.Fatalf("%+v is refused", opts)
					}
				}
				trees = append(trees, p.tree())
			}
			for name, content := range trees[0] {
				other, found := trees[1][name]
				same := bytes.Equal(content, other) || slices.Contains(ordered, name) && slices.Equal(lines(content), lines(other))
				if name != "PROJECT.lock" && (!found || !same) {
					t.Errorf("%+v and %+v: %s depends on the order\n%s\n%s", a, b, name, content, other)
				}
			}
			if len(trees[0]) != len(trees[1]) {
				t.Errorf("%+v and %+v make %d and %d files", a, b, len(trees[0]), len(trees[1]))
			}
		}
	}
}
