package definition

import (
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/expression"
)

func BenchmarkRefused(b *testing.B) {
	files, _ := filepath.Glob(os.Getenv("CRDS"))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, crd); err != nil {
			b.Fatal(err)
		}
		b.Run(filepath.Base(f), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				p, err := Refused(crd)
				if err != nil {
					b.Fatal(err, p)
				}
			}
		})
		b.Run("rules/"+filepath.Base(f), func(b *testing.B) {
			for b.Loop() {
				for _, v := range crd.Spec.Versions {
					expression.Rules(v.Schema.OpenAPIV3Schema)
				}
			}
		})
	}
}
