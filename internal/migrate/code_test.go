package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/migrate/rewrite"
)

// TestReportGroupsFilesByReason checks files that were not type-checked for the same reason.
func TestReportGroupsFilesByReason(t *testing.T) {
	r := &Report{Configurations: []string{"-tags=e2e", "GOOS=windows"}, Skipped: []rewrite.Skipped{
		{File: "a.go", Reason: "generated code", Checked: true},
		{File: "b.go", Reason: "-C tests: no module"},
		{File: "c.go", Reason: "-C tests: no module"},
		{File: "d.go", Reason: "-tags=old: undefined: X"},
		{File: "e.go", Reason: "-C tests: no module"},
	}}
	var out strings.Builder
	r.Print(&out)
	const want = "0 of 0 references to controller-runtime rewritten in 0 files; " +
		"all packages and tests compile, also with -tags=e2e and with GOOS=windows; some files are not type-checked\n" +
		"a.go: not rewritten: generated code\n" +
		"b.go and other files (2): not type-checked: -C tests: no module\n" +
		"d.go: not type-checked: -tags=old: undefined: X\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
