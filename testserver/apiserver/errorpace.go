package apiserver

import (
	"context"
	"reflect"
	"runtime"
	"strings"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// The handler of upstream that makes errors wait for each other keeps the time of the last one for the whole process. The clock
// of a synctest bubble is decades before that, so the handler would let the bubble sleep for decades. It is skipped there, and
// nothing else is changed: the package is in the test binaries of operators.
func init() { skipBackoffInBubbles(utilruntime.ErrorHandlers, time.Now()) }

// skipBackoffInBubbles wraps the backoff of upstream among handlers. Clocks before started are those of bubbles.
func skipBackoffInBubbles(handlers []utilruntime.ErrorHandler, started time.Time) {
	for i, handler := range handlers {
		if !isBackoff(handler) {
			continue
		}
		handlers[i] = func(ctx context.Context, err error, message string, more ...any) {
			if !time.Now().Before(started) {
				handler(ctx, err, message, more...)
			}
		}
	}
}

// isBackoff reports whether a handler is the backoff of upstream, which only its name tells.
func isBackoff(handler utilruntime.ErrorHandler) bool {
	name := runtime.FuncForPC(reflect.ValueOf(handler).Pointer()).Name()
	return strings.HasPrefix(name, "k8s.io/apimachinery/pkg/util/runtime.") && strings.Contains(name, "ackoff")
}
