package apiserver

import (
	"context"
	"reflect"
	"runtime"
	"strings"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// One of upstream's error handlers delays successive errors. It stores the time of the last error in a variable of the
// process. The clock of a synctest bubble is decades earlier, so the handler would make the bubble sleep for decades.
// The handler is skipped only in bubbles, because test binaries of operators link this package and must otherwise not
// change their behavior.
func init() { skipBackoffInBubbles(utilruntime.ErrorHandlers, time.Now()) }

// skipBackoffInBubbles wraps the handler among handlers that is upstream's backoff. A clock that shows a time before
// started is the clock of a bubble.
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

// isBackoff reports whether a handler is upstream's backoff. It can identify the handler only by its name.
func isBackoff(handler utilruntime.ErrorHandler) bool {
	name := runtime.FuncForPC(reflect.ValueOf(handler).Pointer()).Name()
	return strings.HasPrefix(name, "k8s.io/apimachinery/pkg/util/runtime.") && strings.Contains(name, "ackoff")
}
