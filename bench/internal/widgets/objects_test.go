package widgets

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestObjectsHaveTwoKilobytes(t *testing.T) {
	o := New(12345)
	o.UID, o.ResourceVersion, o.Generation = "00000000-0000-0000-0000-000000000000", "123456", 1
	whole, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	managed, err := json.Marshal(o.ManagedFields)
	if err != nil {
		t.Fatal(err)
	}
	if len(whole) < 1900 || len(whole) > 2300 || len(o.ManagedFields) != 2 {
		t.Errorf("an object has %d bytes", len(whole))
	}
	t.Logf("%d bytes, %d of them managed fields", len(whole), len(managed))
}

func TestSplitCRDHasStatusSubresource(t *testing.T) {
	if got := SplitCRD(); !strings.HasSuffix(got, "    storage: true\n    subresources:\n      status: {}\n") ||
		len(got) <= len(CRD) {
		t.Errorf("the CRD ends with %q", got[len(got)-100:])
	}
}
