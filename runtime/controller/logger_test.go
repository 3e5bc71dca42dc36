package controller

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"testing"
)

// attributes counts how often a request is formatted as log attributes.
type attributes struct{ made *int }

func (a attributes) String() string {
	*a.made++
	return "default/web"
}

func TestALineOfAReconcileHasItsAttributesWhateverIsDoneToTheLogger(t *testing.T) {
	var out bytes.Buffer
	base := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})).With("controller", "web")
	made := 0
	logger := newRequestLogger(base, attributes{&made})
	logger.Debug("nobody listens")
	if made != 0 {
		t.Error("attributes were computed for a record that is not logged")
	}
	logger.Info("plain")
	logger.With("a", 1).Info("with")
	logger.WithGroup("g").Info("grouped", "b", 2)
	id := `reconcileID=([0-9a-f]{16})`
	want := regexp.MustCompile(fmt.Sprintf("^level=INFO msg=plain controller=web key=default/web %[1]s\n"+
		"level=INFO msg=with controller=web key=default/web %[1]s a=1\n"+
		"level=INFO msg=grouped controller=web key=default/web %[1]s g.b=2\n$", id))
	match := want.FindStringSubmatch(out.String())
	if match == nil || match[1] != match[2] || match[1] != match[3] {
		t.Errorf("logged\n%s", out.String())
	}
	if made != 1 {
		t.Errorf("attributes were made %d times", made)
	}
}
