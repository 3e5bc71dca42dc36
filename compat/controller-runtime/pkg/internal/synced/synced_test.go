package synced_test

import (
	"reflect"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/internal/synced"
)

type syncer chan struct{}

func (s syncer) HasSynced() bool { return true }

func (s syncer) Name() string { return "test" }

func (s syncer) Done() <-chan struct{} { return s }

// TestRegistrationHasChecker passes with every version of client-go.
func TestRegistrationHasChecker(t *testing.T) {
	done := make(syncer)
	r := synced.Registration(done)
	if !r.HasSynced() {
		t.Error("the registration has not synced")
	}
	checker := reflect.ValueOf(r).MethodByName("HasSyncedChecker").Call(nil)[0].Interface()
	if checker != any(done) {
		t.Errorf("HasSyncedChecker() = %v; want the channel", checker)
	}
}
