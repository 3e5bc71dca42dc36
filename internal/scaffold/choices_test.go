package scaffold_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
)

// TestProjectKeepsWhatFilesFollowFrom checks that PROJECT alone is enough to render the files of a kind, for any flags
// of the commands that created the kind and its webhooks. kctrl relies on this to restore a lost lock.
func TestProjectKeepsWhatFilesFollowFrom(t *testing.T) {
	seeds.Each(t, 15, func(t *testing.T, seed uint64) {
		t.Parallel()
		r := rand.New(rand.NewPCG(seed, 7))
		p := newRandomProject(t, r)
		for {
			api := scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Controller: true,
				Namespaced: true, Shape: randomShape(r)}
			if r.IntN(3) == 0 {
				api.Operand = &render.Operand{Image: []string{"", "example.com/memcached:1"}[r.IntN(2)],
					Port: []int{0, 8080}[r.IntN(2)], Finalizer: r.IntN(2) == 0}
			}
			if p.run(api) {
				break
			}
		}
		for range length(r, 6) {
			webhook, ok := randomOptions(r).(scaffold.WebhookOptions)
			if !ok {
				continue
			}
			webhook.Conversion, webhook.Certificates = false, ""
			if webhook.Group == "webapp" {
				webhook.Version, webhook.Kind = "v1", "Guestbook"
			}
			if webhook.Defaulting && r.IntN(2) == 0 {
				webhook.DefaultingPath = "/mine"
			}
			if len(webhook.Requests.Verbs) > 0 && (webhook.Defaulting || webhook.Validation) {
				webhook.Requests.Timeout = 5 * time.Second
			}
			p.run(webhook)
		}
		// Lists follow the order of the commands, which is not recorded.
		lists := regexp.MustCompile(`(?m)^config/(default|policy)/kustomization.yaml\t.*\n`)
		tree := func() map[string][]byte {
			tree := p.tree()
			tree[project.LockFile] = lists.ReplaceAll(tree[project.LockFile], nil)
			return tree
		}
		want := tree()
		if err := p.fs.Remove(project.LockFile); err != nil {
			t.Fatal(err)
		}
		plan, err := render.NewProjectPlan(afero.NewIOFS(p.fs), p.load(), memoryKctrl)
		if err == nil {
			err = plan.Apply(t.Context(), p.fs, "test")
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := sameTree(want, tree()); diff != "" {
			t.Errorf("PROJECT says\n%s\nand the lock made from it differs (-want +got)\n%s", want[project.File], diff)
		}
	})
}

// TestEveryChoiceIsKept checks that PROJECT contains each flag of create that affects files, as it was typed.
func TestEveryChoiceIsKept(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{})
	api := scaffold.APIOptions{
		Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Controller: true, Namespaced: true,
		Shape: render.Shape{
			Fields: []string{`note:string,doc="it's {so}, \"and\" #1: more"`}, StatusFields: []string{"seen:int32"},
			ShortNames: []string{"gb", "gbs"},
			Categories: []string{"all"}, Columns: []string{"Note:string:.spec.note"}, Scale: "default",
		},
		Operand: &render.Operand{Image: "example.com/a:1", Port: 80, Finalizer: true},
	}
	webhook := scaffold.WebhookOptions{
		Group: "webapp", Version: "v1", Kind: "Guestbook", Defaulting: true, Validation: true, Policy: true,
		DefaultingPath: "/a", ValidationPath: "/b",
		Requests: render.Requests{
			Verbs: []string{"create", "delete"}, FailurePolicy: "ignore", Timeout: 5 * time.Second, NamespaceSelector: "a=b",
			ObjectSelector:  "!c",
			MatchConditions: []string{"one=1 < 2"},
		},
	}
	for _, options := range []any{api.Shape, *api.Operand, webhook.Requests} {
		for i, value := 0, reflect.ValueOf(options); i < value.NumField(); i++ {
			if value.Field(i).IsZero() {
				t.Errorf("this test leaves %s out", value.Type().Field(i).Name)
			}
		}
	}
	if !p.run(api) || !p.run(webhook) {
		t.Fatal("refused")
	}
	requests := []string{
		"--verbs=create", "--verbs=delete", "--failure-policy=ignore", "--timeout=5s", "--namespace-selector=a=b",
		"--object-selector=!c", "--match-condition=one=1 < 2",
	}
	r := p.load().Resources[0]
	for _, kept := range []struct{ want, got []string }{
		{[]string{
			"--from=deployment", "--image=example.com/a:1", "--port=80", "--finalizer",
			`--field=note:string,doc="it's {so}, \"and\" #1: more"`,
			"--status-field=seen:int32", "--short-name=gb", "--short-name=gbs", "--category=all",
			"--print-column=Note:string:.spec.note", "--scale=default",
		}, r.APIFlags},
		{append(slices.Clone(requests), "--defaulting-path=/a"), r.DefaultingFlags},
		{append(slices.Clone(requests), "--validation-path=/b"), r.ValidationFlags},
		{slices.DeleteFunc(slices.Clone(requests), func(flag string) bool { return strings.HasPrefix(flag, "--timeout") }),
			r.PolicyFlags},
	} {
		if !slices.Equal(kept.want, kept.got) {
			t.Errorf("kept\n%q, want\n%q", kept.got, kept.want)
		}
	}
}

// TestFlagsOfAnotherKctrlAreKept checks flags that only another version of kctrl has. Files that this kctrl cannot
// render count as edited, but are moved and renamed like other files.
func TestFlagsOfAnotherKctrlAreKept(t *testing.T) {
	for flag, inYAML := range map[string]string{
		"--telepathy=on": "--telepathy=on", "--field=size:telepathy": "'--field=size:telepathy'",
		"--scale=nowhere": "--scale=nowhere",
	} {
		p := newMemoryProject(t, scaffold.InitOptions{})
		p.run(scaffold.APIOptions{
			Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Controller: true, Namespaced: true,
			Shape: render.Shape{Fields: []string{"size:int32", "mode:string,enum=a|b"}},
		})
		p.edit(project.File, func(text []byte) []byte {
			return []byte(strings.Replace(string(text), "'--field=size:int32'", inYAML, 1))
		})
		if flags := p.load().Resources[0].APIFlags; !slices.Contains(flags, flag) {
			t.Fatalf("the flags are %q", flags)
		}
		before := p.tree()
		changes := changesOf(p.load())
		delete(changes, "certificates") // without webhooks
		for _, pair := range changes {
			if !p.run(pair[0]) || !p.run(pair[1]) {
				t.Fatalf("%s: %+v is refused", flag, pair)
			}
			if diff := sameTree(before, p.tree()); diff != "" {
				t.Errorf("%s: %+v there and back (-want +got)\n%s", flag, pair, diff)
			}
		}
		if !strings.Contains(string(p.tree()["api/v1/guestbook_types.go"]), "Size int32") ||
			!strings.Contains(string(p.tree()[project.File]), flag) {
			t.Errorf("%s: the field or the flag is gone", flag)
		}
	}
}

// TestWebhooksAreServedAtPathsOfTheirOwn checks paths, because an operator with two webhooks at one path does not
// start.
func TestWebhooksAreServedAtPathsOfTheirOwn(t *testing.T) {
	p := newEdited(t)
	p.mustRun(shelf)
	p.mustRun(scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Shelf", Validation: true,
		ValidationPath: "/mine"})
	for name, opts := range map[string]scaffold.WebhookOptions{
		"the validator of webapp.example.com/v1.Guestbook would both be served at /a":                                      {Defaulting: true, DefaultingPath: "/a", Validation: true, ValidationPath: "/a"},
		"the validator of webapp.example.com/v1.Shelf would both be served at /mine":                                       {Defaulting: true, DefaultingPath: "/mine"},
		"the defaulter of webapp.example.com/v1.Guestbook would both be served at /convert":                                {Defaulting: true, DefaultingPath: "/convert"},
		"the validator of webapp.example.com/v1.Guestbook would both be served at /mutate-webapp-example-com-v1-guestbook": {Defaulting: true, Validation: true, ValidationPath: "/mutate-webapp-example-com-v1-guestbook"},
	} {
		opts.Group, opts.Version, opts.Kind = "webapp", "v1", "Guestbook"
		if _, err := p.plan(opts); !errors.Is(err, diagnostic.ErrUsage) || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %s", err, name)
		}
	}
	p.mustRun(scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Defaulting: true,
		DefaultingPath: "/a", Validation: true, ValidationPath: "/b"})
}
