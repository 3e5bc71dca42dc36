package apiserver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// TestImportKeepsTheErrorHandlersOfTheProcess checks that an import keeps upstream's two error handlers, which log and
// delay.
func TestImportKeepsTheErrorHandlersOfTheProcess(t *testing.T) {
	if n := len(utilruntime.ErrorHandlers); n != 2 {
		t.Fatalf("there are %d error handlers, want the two of upstream", n)
	}
	backoff := utilruntime.ErrorHandlers[1]
	began := time.Now()
	for range 20 {
		backoff(t.Context(), errors.New("broken"), "")
	}
	if took := time.Since(began); took < 5*time.Millisecond {
		t.Errorf("20 errors took %s; those of the process do not wait for each other any more", took)
	}
}

func TestErrorsTakeNoTimeInABubble(t *testing.T) {
	if len(utilruntime.ErrorHandlers) != 2 {
		t.Fatal("there is no backoff")
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		for range 3 {
			utilruntime.ErrorHandlers[1](t.Context(), errors.New("broken"), "")
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("took %s", took)
		}
	})
}

func TestOtherErrorHandlersRunInBubbles(t *testing.T) {
	called := 0
	handlers := []utilruntime.ErrorHandler{func(context.Context, error, string, ...any) { called++ }}
	skipBackoffInBubbles(handlers, time.Now())
	synctest.Test(t, func(t *testing.T) { handlers[0](t.Context(), nil, "") })
	if called != 1 {
		t.Errorf("called %d times", called)
	}
}
