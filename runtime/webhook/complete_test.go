package webhook_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/webhook"
	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"
	"github.com/kctrl-dev/kctrl/runtime/webhook/conversion"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// served is a manager that has a webhook server but runs nothing.
type served struct {
	server *server.Server
	owner  server.Owner
}

func newServed() *served {
	return &served{server: server.New(server.Options{Logger: slog.New(slog.DiscardHandler)})}
}

func (s *served) Webhooks() (*server.Server, error) { return s.server, nil }
func (s *served) Scheme() *runtime.Scheme           { return newScheme() }
func (s *served) Logger() *slog.Logger              { return slog.New(slog.DiscardHandler) }
func (s *served) Owner() server.Owner               { return s.owner }

const (
	mutatePath   = "/mutate-webapp-example-com-v1-guestbook"
	validatePath = "/validate-webapp-example-com-v1-guestbook"
)

// complete registers the webhooks and the conversion of the kind.
func complete(m *served, validateAt string, spoke conversion.Spoke[*guestbookV1]) error {
	nothing := admission.DefaulterFunc[*guestbookV1](func(context.Context, *guestbookV1) error { return nil })
	return webhook.For[*guestbookV1](m).WithDefaulter(nothing).WithValidatePath(validateAt).
		WithValidator(admission.ValidatorFuncs[*guestbookV1]{}).WithSpokes(spoke).Complete()
}

func convertingV2() conversion.Spoke[*guestbookV1] {
	return conversion.NewSpoke(func(context.Context, *guestbookV1, *guestbookV2) error { return nil },
		func(context.Context, *guestbookV2, *guestbookV1) error { return nil })
}

// convertingItself returns a spoke for the version that is also the hub, which is a mistake.
func convertingItself() conversion.Spoke[*guestbookV1] {
	return conversion.NewSpoke(func(context.Context, *guestbookV1, *guestbookV1) error { return nil },
		func(context.Context, *guestbookV1, *guestbookV1) error { return nil })
}

// TestCompleteServesAllWebhooksOfAKindOrNone completes a build with one mistake, which must serve nothing, and then one
// without mistakes.
func TestCompleteServesAllWebhooksOfAKindOrNone(t *testing.T) {
	for _, c := range []struct {
		name     string
		complete func(m *served) error
		want     string
	}{
		{"a path that is none", func(m *served) error { return complete(m, "validate", convertingV2()) },
			`webhook path "validate"`},
		{"one path twice", func(m *served) error { return complete(m, mutatePath, convertingV2()) },
			"another webhook at " + mutatePath},
		{"a spoke that is the hub", func(m *served) error { return complete(m, validatePath, convertingItself()) },
			"two versions"},
	} {
		m := newServed()
		if err := c.complete(m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.name, err)
		}
		for _, path := range []string{mutatePath, validatePath, "validate", conversion.Path} {
			if m.server.At(path) != nil {
				t.Errorf("%s: %s is served", c.name, path)
			}
		}
		if err := complete(m, validatePath, convertingV2()); err != nil {
			t.Errorf("%s: after it: %v", c.name, err)
		}
		for _, path := range []string{mutatePath, validatePath, conversion.Path} {
			if m.server.At(path) == nil {
				t.Errorf("%s: after it %s is not served", c.name, path)
			}
		}
	}
}

// TestFailedBuildLeavesWhatTheOneBeforeServes builds the webhooks of an owner a second time, as a registry does for a
// restarted controller. If the build fails, the webhooks of the first build must still be served.
func TestFailedBuildLeavesWhatTheOneBeforeServes(t *testing.T) {
	m := newServed()
	m.owner = server.Owner{Name: "a", Build: 1}
	if err := complete(m, validatePath, convertingV2()); err != nil {
		t.Fatal(err)
	}
	served := map[string]http.Handler{}
	for _, path := range []string{mutatePath, validatePath, conversion.Path} {
		served[path] = m.server.At(path)
	}
	m.owner.Build++
	if err := complete(m, validatePath, convertingItself()); err == nil {
		t.Fatal("no error")
	}
	for path, h := range served {
		if m.server.At(path) != h {
			t.Errorf("%s is served by another handler", path)
		}
	}
	if err := complete(m, validatePath, convertingV2()); err != nil || m.server.At(mutatePath) == served[mutatePath] {
		t.Errorf("the next build serves nothing: %v", err)
	}
}
