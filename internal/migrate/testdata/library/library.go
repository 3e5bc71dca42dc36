// Package library stands for any library that is not migrated and wants what clients of Kubernetes have.
package library

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/record"
)

func Tell(r record.EventRecorder) {}

// Told has what the library tells.
type Told struct {
	Recorder record.EventRecorder
	Logger   logr.Logger
}

// Log is where the library logs.
var Log logr.Logger

// NewLog returns a logger of a name.
func NewLog(name string) logr.Logger { return Log.WithName(name) }

// SetLog has the library log elsewhere.
func SetLog(log *logr.Logger) { Log = *log }

// NewContext returns a logger and a context that has it.
func NewContext() (logr.Logger, context.Context) { return Log, context.Background() }

// Source is something that runs, and its Run is something else.
type Source struct{}

func (*Source) Start(ctx context.Context) error { return nil }

func (*Source) Run() {}
