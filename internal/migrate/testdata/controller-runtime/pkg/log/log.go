package log

import (
	"context"

	"github.com/go-logr/logr"
)

var Log logr.Logger

func FromContext(ctx context.Context, keysAndValues ...any) logr.Logger { return Log }

func SetLogger(l logr.Logger) {}

type NullLogSink struct{}

func (NullLogSink) Init(logr.RuntimeInfo)            {}
func (NullLogSink) Info(int, string, ...any)         {}
func (NullLogSink) Enabled(int) bool                 { return false }
func (NullLogSink) Error(error, string, ...any)      {}
func (s NullLogSink) WithName(string) logr.LogSink   { return s }
func (s NullLogSink) WithValues(...any) logr.LogSink { return s }
