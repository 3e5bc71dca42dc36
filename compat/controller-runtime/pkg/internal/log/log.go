// Package log contains the logger of this module's packages.
package log

import (
	"log/slog"

	"github.com/go-logr/logr"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// RuntimeLog is the parent of the loggers of this module's packages.
var RuntimeLog = log.Log.WithName("controller-runtime")

// Slog returns l for packages of kctrl.
func Slog(l logr.Logger) *slog.Logger { return slog.New(logr.ToSlogHandler(l)) }
