package log_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/log"
)

const hidden = "hunter2"

func secret() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "password",
			Annotations: map[string]string{"last-applied": hidden}},
		Data: map[string][]byte{"p": []byte(hidden)}, StringData: map[string]string{"p": hidden},
	}
}

func content() map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "ns", "name": "password"},
		"stringData": map[string]any{"p": hidden},
	}
}

// valuer is a LogValuer with any value.
type valuer struct{ value any }

func (v valuer) LogValue() slog.Value { return slog.AnyValue(v.value) }

type holder struct {
	Exported *corev1.Secret
	Count    int
	hidden   *corev1.Secret
	any      any
}

// guarded has state that changes while it is logged, as in clients and caches.
type guarded struct {
	mu    sync.Mutex
	known map[string]any
	next  *guarded
	_     corev1.Pod
}

type loop struct {
	Secret corev1.Secret
	Next   *loop
}

type secretApply struct{ kind, namespace, name, data string }

func (s *secretApply) GetKind() *string      { return &s.kind }
func (s *secretApply) GetNamespace() *string { return &s.namespace }
func (s *secretApply) GetName() *string      { return &s.name }

// shapes returns values that contain a Secret in different places.
func shapes() map[string]any {
	s := secret()
	var asInterface any = s
	endless := &loop{Secret: *s}
	endless.Next = endless
	return map[string]any{
		"pointer": s, "value": *s, "pointer to a pointer": &s, "pointer to an interface": &asInterface,
		"runtime.Object": runtime.Object(s), "metav1.Object": metav1.Object(s),
		"slice": []*corev1.Secret{s, nil}, "slice of values": []corev1.Secret{*s}, "slice of anything": []any{1, s},
		"array": [1]corev1.Secret{*s},
		"map":   map[string]*corev1.Secret{"k": s}, "map of slices": map[string][]corev1.Secret{"k": {*s}},
		"map by key":              map[types.NamespacedName]corev1.Secret{{Name: "k"}: *s},
		"list":                    &corev1.SecretList{Items: []corev1.Secret{*s}},
		"list as a value":         corev1.SecretList{Items: []corev1.Secret{*s}},
		"unstructured":            &unstructured.Unstructured{Object: content()},
		"unstructured as a value": unstructured.Unstructured{Object: content()},
		"content":                 content(), "contents": []map[string]any{content()},
		"unstructured list": &unstructured.UnstructuredList{Items: []unstructured.Unstructured{{Object: content()}}},
		"struct":            holder{Exported: s, Count: 1}, "pointer to a struct": &holder{Exported: s},
		"unexported field": holder{hidden: s}, "unexported anything": &holder{any: s},
		"unexported value": holder{any: *s}, "unexported slice": holder{any: []any{*s}},
		"unexported map":     &holder{any: map[string]corev1.Secret{"k": *s}},
		"unexported content": holder{any: content()}, "unexported struct": holder{any: holder{any: *s}},
		"struct of any form":           struct{ A, B any }{1, []any{map[int]any{1: *s}}},
		"endless":                      endless,
		"raw extension":                runtime.RawExtension{Raw: []byte(`{"p":"` + hidden + `"}`)},
		"raw extension with an object": &runtime.RawExtension{Object: s},
		"apply configuration":          &secretApply{"Secret", "ns", "password", hidden},
		"metadata":                     &s.ObjectMeta, "template": corev1.PodTemplateSpec{ObjectMeta: s.ObjectMeta},
		"LogValuer": valuer{s}, "LogValuer of a LogValuer": valuer{valuer{[]any{s}}},
		"group":                slog.GroupValue(slog.Any("in", s), slog.Group("deeper", "in", *s)),
		"LogValuer of a group": valuer{slog.GroupValue(slog.Any("in", s))},
	}
}

func TestObjectsAreLoggedByKindNamespaceAndName(t *testing.T) {
	for format, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		for name, value := range shapes() {
			for how, print := range map[string]func(*slog.Logger){
				"as an argument": func(l *slog.Logger) { l.Info("hello", "before", 1, "value", value) },
				"as an attribute": func(l *slog.Logger) {
					l.LogAttrs(context.Background(), slog.LevelInfo, "hello", slog.Any("value", value))
				},
				"as one of a logger":  func(l *slog.Logger) { l.With("value", value).Info("hello") },
				"in a group":          func(l *slog.Logger) { l.WithGroup("g").With("other", 1).Info("hello", "value", value) },
				"in a group of args":  func(l *slog.Logger) { l.Info("hello", slog.Group("g", "value", value)) },
				"beside another part": func(l *slog.Logger) { l.Info("hello", "err", errors.New("e"), "value", value) },
			} {
				var b bytes.Buffer
				print(slog.New(log.NewHandler(handler(&b))))
				if line := b.String(); strings.Contains(line, hidden) || strings.Contains(line, "aHVudGVyMg") ||
					strings.Contains(line, "104 117") || !strings.Contains(line, "hello") {
					t.Errorf("%s, %s, %s: %s", format, name, how, line)
				}
			}
		}
	}
}

func TestIdentityIsReadable(t *testing.T) {
	for value, want := range map[any]string{
		secret(): "v.kind=Secret v.namespace=ns v.name=password",
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}: "v.kind=Node v.name=n",
		&[]any{1, secret()}:            `v="[1 Secret ns/password]"`,
		&holder{secret(), 2, nil, nil}: `v="map[Count:2 Exported:Secret ns/password]"`,
		(*corev1.Secret)(nil):          "v=nil",
		&corev1.SecretList{}:           "v.kind=SecretList",
	} {
		var b bytes.Buffer
		slog.New(log.NewHandler(slog.NewTextHandler(&b, nil))).Info("m", "v", value)
		if !strings.HasSuffix(strings.TrimSpace(b.String()), want) {
			t.Errorf("%T: got %s want %s", value, b.String(), want)
		}
	}
	var b bytes.Buffer
	slog.New(log.NewHandler(slog.NewJSONHandler(&b, nil))).Info("m", "v", secret(), "all", []any{secret()})
	want := `"v":{"kind":"Secret","namespace":"ns","name":"password"},"all":[{"kind":"Secret","namespace":"ns","name":"password"}]`
	if !strings.Contains(b.String(), want) {
		t.Errorf("got %s, want %s", b.String(), want)
	}
}

// Values that contain no objects are logged exactly as without the handler.
func TestEverythingElseIsLoggedAsItIs(t *testing.T) {
	type point struct {
		X, y int
		any  any
		next *guarded
	}
	var nothing *point
	for _, value := range []any{
		1, "text", nil, errors.New("no"), fmt.Errorf("of %v", secret()), types.NamespacedName{Namespace: "a", Name: "b"},
		point{1, 2, 3, nil}, &point{any: "x"}, point{next: &guarded{}}, &point{any: []string{"x"}},
		[]byte("bytes"), map[string]any{"kind": "x"}, map[string]string{"a": "b"}, nothing, []string{"a"}, metav1.Now(),
		struct{}{}, []any{nil}, secret().Data,
	} {
		var plain, brief bytes.Buffer
		noTime := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}
		slog.New(slog.NewTextHandler(&plain, noTime)).With("w", value).Info("m", "v", value)
		slog.New(log.NewHandler(slog.NewTextHandler(&brief, noTime))).With("w", value).Info("m", "v", value)
		if plain.String() != brief.String() {
			t.Errorf("%T: got %s, want %s", value, brief.String(), plain.String())
		}
	}
}

// The race detector reports if the handler reads guarded values.
func TestUnexportedFieldsMayChangeConcurrently(t *testing.T) {
	g := &guarded{next: &guarded{}}
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		for _, g := range []*guarded{g, g.next} {
			g.mu.Lock()
			g.known = map[string]any{}
			for i := range 1000 {
				g.known[fmt.Sprint(i)] = i
			}
			g.mu.Unlock()
		}
	}()
	logger := slog.New(log.NewHandler(slog.NewJSONHandler(io.Discard, nil)))
	for range 100 {
		logger.Info("m", "v", struct{ Client any }{g.next}, "w", struct{ client any }{g})
	}
	<-changed
}

func TestFullObjectIsLoggedWhole(t *testing.T) {
	for name, handler := range map[string]func(slog.Handler) slog.Handler{
		"with the handler":   log.NewHandler,
		"with it twice":      func(h slog.Handler) slog.Handler { return log.NewHandler(log.NewHandler(h)) },
		"with any other one": func(h slog.Handler) slog.Handler { return h },
	} {
		var b bytes.Buffer
		logger := slog.New(handler(slog.NewTextHandler(&b, nil)))
		logger.With("w", log.Full(secret())).Info("m", "v", log.Full(secret()), slog.Group("g", "v", log.Full(secret())))
		if n := strings.Count(b.String(), "last-applied"); n != 3 {
			t.Errorf("%s: %d of 3 are whole: %s", name, n, b.String())
		}
	}
}

func TestContextThatIsNilGivesTheDefault(t *testing.T) {
	var none context.Context
	if log.FromContext(none) != slog.Default() {
		t.Error("not slog.Default()")
	}
}
