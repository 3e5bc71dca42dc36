package zap

import (
	"flag"

	"github.com/go-logr/logr"
)

type Options struct {
	Development        bool
	TimeEncoder, Level any
	ZapOpts            []any
}

func (o *Options) BindFlags(set *flag.FlagSet) {}

type Opts func(*Options)

func UseFlagOptions(o *Options) Opts { return nil }

func New(opts ...Opts) logr.Logger { return logr.Logger{} }
