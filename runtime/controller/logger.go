package controller

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
)

// newRequestLogger returns logger with the attributes of one reconcile of request. They are made when something is logged,
// since most reconciles log nothing.
func newRequestLogger[R comparable](logger *slog.Logger, request R) *slog.Logger {
	return slog.New(&requestHandler[R]{Handler: logger.Handler(), request: request, id: rand.Uint64()})
}

// requestHandler adds key and reconcileID to what is logged.
type requestHandler[R comparable] struct {
	slog.Handler // without them
	request      R
	id           uint64

	once       sync.Once
	attributed slog.Handler // with them; set by once
}

func (h *requestHandler[R]) with() slog.Handler {
	h.once.Do(func() {
		h.attributed = h.Handler.WithAttrs([]slog.Attr{
			slog.String("key", fmt.Sprint(h.request)), slog.String("reconcileID", fmt.Sprintf("%016x", h.id)),
		})
	})
	return h.attributed
}

func (h *requestHandler[R]) Handle(ctx context.Context, record slog.Record) error {
	return h.with().Handle(ctx, record)
}

func (h *requestHandler[R]) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.with().WithAttrs(attrs)
}

func (h *requestHandler[R]) WithGroup(name string) slog.Handler { return h.with().WithGroup(name) }
