package apiserver

import (
	"context"
	"reflect"
	"runtime"
	"strings"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Upstream's error handler that delays successive errors keeps the time of the last error for the whole process. The
// clock of a synctest bubble is decades earlier, so the handler would make the bubble sleep for decades. It is skipped
// in bubbles. Nothing else changes, since test binaries of operators link this package.
func init() { skipBackoffInBubbles(utilruntime.ErrorHandlers, time.Now()) }

// skipBackoffInBubbles wraps upstream's backoff among handlers. Clocks before started are those of bubbles.
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

// isBackoff reports whether a handler is upstream's backoff, which only its name identifies.
func isBackoff(handler utilruntime.ErrorHandler) bool {
	name := runtime.FuncForPC(reflect.ValueOf(handler).Pointer()).Name()
	return strings.HasPrefix(name, "k8s.io/apimachinery/pkg/util/runtime.") && strings.Contains(name, "ackoff")
}
