package conversiontest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/webhook/conversion"
	"github.com/kctrl-dev/kctrl/runtime/webhook/conversiontest"
)

type hub struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              hubSpec `json:"spec,omitempty"`
}

type hubSpec struct {
	Body  string            `json:"body,omitempty"`
	Mode  mode              `json:"mode,omitempty"`
	Parts []part            `json:"parts,omitempty"`
	Named map[string]part   `json:"named,omitempty"`
	More  map[string]string `json:"more,omitempty"`
}

type mode string

type part struct {
	Name string       `json:"name,omitempty"`
	Size *int         `json:"size,omitempty"`
	Time *metav1.Time `json:"time,omitempty"`
}

type spoke struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              spokeSpec `json:"spec,omitempty"`
}

type spokeSpec struct {
	Message string          `json:"message,omitempty"`
	Mode    mode            `json:"mode,omitempty"`
	Parts   []part          `json:"parts,omitempty"`
	Named   map[string]part `json:"named,omitempty"`
}

func (h *hub) DeepCopyObject() runtime.Object   { return copyOf(h) }
func (s *spoke) DeepCopyObject() runtime.Object { return copyOf(s) }

// copyOf copies the fields that the test's conversions change and the fields that are shrunk, through JSON.
func copyOf[T any](v *T) *T {
	c := new(T)
	conversiontest.Recode(v, c)
	return c
}

func fromHub(_ context.Context, h *hub, s *spoke) error {
	s.Spec = spokeSpec{Message: h.Spec.Body, Mode: h.Spec.Mode, Parts: h.Spec.Parts, Named: h.Spec.Named}
	return conversion.Keep(s, h.Spec.More)
}

func toHub(_ context.Context, s *spoke, h *hub) error {
	h.Spec = hubSpec{Body: s.Spec.Message, Mode: s.Spec.Mode, Parts: s.Spec.Parts, Named: s.Spec.Named}
	return conversion.Restore(s, &h.Spec.More)
}

func TestConversionThatLosesNothingPasses(t *testing.T) {
	conversiontest.RoundTrip(t, conversion.NewSpoke(fromHub, toHub))
}

// recorder is a testing.TB that records errors.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// TestSmallestCounterExampleIsReported checks conversions that contain typical mistakes.
func TestSmallestCounterExampleIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		fromHub func(context.Context, *hub, *spoke) error
		toHub   func(context.Context, *spoke, *hub) error
		want    []string // one line per error
	}{
		"a field is forgotten": {
			func(_ context.Context, h *hub, s *spoke) error {
				s.Spec = spokeSpec{Message: h.Spec.Body, Mode: h.Spec.Mode, Parts: h.Spec.Parts, Named: h.Spec.Named}
				return nil
			},
			toHub,
			[]string{`hub to spoke and back:`, `/spec/more: is gone`, `of      {"metadata":{},"spec":{"more":{`, `":""}}}`},
		},
		"elements of a list are lost": {
			func(ctx context.Context, h *hub, s *spoke) error {
				err := fromHub(ctx, h, s)
				if len(s.Spec.Parts) > 1 {
					s.Spec.Parts = s.Spec.Parts[:1]
				}
				return err
			},
			toHub,
			[]string{`of      {"metadata":{},"spec":{"parts":[{},{}]}}`},
		},
		"a pointer to zero is nothing": {
			fromHub,
			func(ctx context.Context, s *spoke, h *hub) error {
				err := toHub(ctx, s, h)
				for name, p := range h.Spec.Named {
					p.Size = nil
					h.Spec.Named[name] = p
				}
				return err
			},
			[]string{`":{"size":0}}}}`, `/size: is gone`},
		},
		"an error": {
			fromHub,
			func(_ context.Context, s *spoke, _ *hub) error { return errors.New("cannot") },
			[]string{"back: cannot", `of      {"metadata":{}`},
		},
		"a panic": {
			func(_ context.Context, h *hub, s *spoke) error { _ = h.Spec.Parts[0]; return nil },
			toHub,
			[]string{"panic: runtime error: index out of range [0] with length 0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{TB: t}
			conversiontest.RoundTrip(r, conversion.NewSpoke(c.fromHub, c.toHub))
			report := strings.Join(r.errors, "\n")
			for _, want := range c.want {
				if !strings.Contains(report, want) {
					t.Errorf("no %q in\n%s", want, report)
				}
			}
		})
	}
}

func TestFillMakesTheValuesOfAType(t *testing.T) {
	onlyKnown := func(_ context.Context, h *hub, s *spoke) error {
		if h.Spec.Mode != "a" && h.Spec.Mode != "b" && h.Spec.Mode != "" {
			return fmt.Errorf("unknown mode %q", h.Spec.Mode)
		}
		return fromHub(t.Context(), h, s)
	}
	conversiontest.RoundTrip(t, conversion.NewSpoke(onlyKnown, toHub), conversiontest.Runs(100),
		conversiontest.Fill(func(r *rand.Rand, m *mode) { *m = []mode{"a", "b", ""}[r.IntN(3)] }))
}
