package source

import (
	"context"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kctrl-dev/kctrl/runtime/handler"
)

// Func is a source of the requests that run adds to the queue, such as those of a timer or of a message broker. run does
// what [Source].Run says: it calls synced when what existed at the start has been added, goes on until ctx ends, and
// returns after the last request was added. An error that it returns before ctx ends stops the controller. The name is
// that of the source in logs.
func Func[R comparable](name string, run func(ctx context.Context, queue handler.Queue[R], synced func()) error) Source[R] {
	return &function[R]{name: name, run: run}
}

type function[R comparable] struct {
	name string
	run  func(ctx context.Context, queue handler.Queue[R], synced func()) error
	err  atomic.Pointer[error]
}

func (f *function[R]) Run(ctx context.Context, queue handler.Queue[R], synced func()) error {
	err := f.run(ctx, queue, synced)
	if err != nil {
		f.err.Store(&err)
	}
	return err
}

func (f *function[R]) Err() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (f *function[R]) String() string { return f.name }

// Optional is a source of a kind that need not be there: as long as the API server does not know it, a controller does
// not wait for s. When the kind appears its events come, and nothing has to be restarted; when it vanishes, s waits for
// it to come back.
func Optional[R comparable](s Source[R]) Source[R] { return optional[R]{s} }

type optional[R comparable] struct{ Source[R] }

// IsAbsent reports whether s is [Optional], and its kind is not there.
func IsAbsent[R comparable](s Source[R]) bool {
	return IsOptional(s) && meta.IsNoMatchError(s.Err())
}

// IsOptional reports whether s is [Optional].
func IsOptional[R comparable](s Source[R]) bool {
	_, ok := s.(optional[R])
	return ok
}
