package testenv_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// BenchmarkFurtherServer starts and stops another server in the process of the test binary.
func BenchmarkFurtherServer(b *testing.B) {
	b.Setenv(testenv.ServerVariable, "in-memory")
	testenv.Start(b)
	for b.Loop() {
		if failures := record(func(t testing.TB) { testenv.Start(t) }); failures != "" {
			b.Fatal(failures)
		}
	}
}

// BenchmarkFurtherClient builds a client with one object and reads that object.
func BenchmarkFurtherClient(b *testing.B) {
	given := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}}
	builder := testenv.NewClientBuilder().WithScheme(coreScheme(b)).WithObjects(given)
	builder.Build()
	for b.Loop() {
		if err := builder.Build().Get(b.Context(), object.KeyOf(given), &corev1.ConfigMap{}); err != nil {
			b.Fatal(err)
		}
	}
}
