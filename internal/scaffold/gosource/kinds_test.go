package gosource

import "testing"

func TestGoHidesInternalPackages(t *testing.T) {
	for folder, want := range map[string]bool{
		"api/v1": true, ".": true, "internal/v1": true, "internal": true, "cmd/internal/v1": true, "internals/v1": true,
		"a/internal":      false,
		"pkg/internal/v1": false, "internal/a/internal/v1": false, "cmd/a/internal/v1": false,
	} {
		if got := (&APIPackage{folder: folder}).Importable("cmd"); got != want {
			t.Errorf("%s: importable is %v", folder, got)
		}
	}
	if pkg := (&APIPackage{folder: "cmd/a/internal/v1"}); !pkg.Importable("cmd/a") || !pkg.Importable("cmd/a/b") ||
		pkg.Importable("cmd/ab") || pkg.Importable(".") {
		t.Error("only what is beside a folder named internal may import what is in it")
	}
}
