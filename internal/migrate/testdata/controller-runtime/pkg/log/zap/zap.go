package zap

import (
	"flag"
	"io"

	"github.com/go-logr/logr"
	"go.uber.org/zap"
)

type Options struct {
	Development        bool
	TimeEncoder, Level any
	ZapOpts            []any
}

func (o *Options) BindFlags(set *flag.FlagSet) {}

type Opts func(*Options)

func UseFlagOptions(o *Options) Opts { return nil }

func UseDevMode(enabled bool) Opts { return nil }

func WriteTo(out io.Writer) Opts { return nil }

func Level(level any) Opts { return nil }

func RawZapOpts(opts ...any) Opts { return nil }

func JSONEncoder(opts ...any) Opts { return nil }

func NewRaw(opts ...Opts) *zap.Logger { return nil }

func New(opts ...Opts) logr.Logger { return logr.Logger{} }
