// Package zap creates loggers that write with zap.
package zap

import (
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// EncoderConfigOption changes the configuration of an encoder.
type EncoderConfigOption func(*zapcore.EncoderConfig)

// NewEncoderFunc creates an encoder.
type NewEncoderFunc func(...EncoderConfigOption) zapcore.Encoder

// Opts changes the options of [New].
type Opts func(*Options)

// New returns a logger.
func New(opts ...Opts) logr.Logger { return zapr.NewLogger(NewRaw(opts...)) }

// NewRaw is like [New], but returns a logger of zap.
func NewRaw(opts ...Opts) *zap.Logger {
	o := &Options{}
	for _, opt := range opts {
		opt(o)
	}
	o.complete()
	sink := zapcore.AddSync(o.DestWriter)
	core := zapcore.NewCore(&KubeAwareEncoder{Encoder: o.Encoder, Verbose: o.Development}, sink, o.Level)
	return zap.New(core).WithOptions(append(o.ZapOpts, zap.ErrorOutput(sink))...)
}

// UseDevMode selects the defaults of development.
func UseDevMode(enabled bool) Opts { return func(o *Options) { o.Development = enabled } }

// WriteTo sets the destination. The default is os.Stderr.
func WriteTo(out io.Writer) Opts { return func(o *Options) { o.DestWriter = out } }

// Encoder sets the encoder.
func Encoder(encoder zapcore.Encoder) func(o *Options) {
	return func(o *Options) { o.Encoder = encoder }
}

// JSONEncoder makes the logger write JSON.
func JSONEncoder(opts ...EncoderConfigOption) func(o *Options) { return Encoder(newJSON(opts...)) }

// ConsoleEncoder makes the logger write readable text.
func ConsoleEncoder(opts ...EncoderConfigOption) func(o *Options) {
	return Encoder(newConsole(opts...))
}

// Level sets the lowest logged level.
func Level(level zapcore.LevelEnabler) func(o *Options) {
	return func(o *Options) { o.Level = level }
}

// StacktraceLevel sets the lowest level with a stack trace.
func StacktraceLevel(stacktraceLevel zapcore.LevelEnabler) func(o *Options) {
	return func(o *Options) { o.StacktraceLevel = stacktraceLevel }
}

// RawZapOpts adds options of zap.
func RawZapOpts(zapOpts ...zap.Option) func(o *Options) {
	return func(o *Options) { o.ZapOpts = append(o.ZapOpts, zapOpts...) }
}

// UseFlagOptions sets all options from in, to which flags are bound.
func UseFlagOptions(in *Options) Opts { return func(o *Options) { *o = *in } }

// Options are the options of a logger.
type Options struct {
	// Development selects the defaults for development: text output from the debug level, with stacks from the warn level.
	// The defaults for production are JSON output from the info level, with stacks from the error level and with sampling.
	Development bool
	// Encoder encodes the entries. It replaces NewEncoder.
	Encoder zapcore.Encoder
	// EncoderConfigOptions change the configuration of the encoder that NewEncoder creates.
	EncoderConfigOptions []EncoderConfigOption
	// NewEncoder creates the encoder.
	NewEncoder NewEncoderFunc
	// DestWriter is the destination. Nil means os.Stderr.
	DestWriter io.Writer
	// Level is the lowest logged level.
	Level zapcore.LevelEnabler
	// StacktraceLevel is the lowest level with a stack trace.
	StacktraceLevel zapcore.LevelEnabler
	// ZapOpts are additional options of zap.
	ZapOpts []zap.Option
	// TimeEncoder encodes times. Nil means RFC 3339.
	TimeEncoder zapcore.TimeEncoder
}

// verbosest is the level below which production loggers do not sample.
const verbosest = zapcore.Level(-2)

// complete sets the defaults.
func (o *Options) complete() {
	newEncoder, level, stacks := newJSON, zap.InfoLevel, zap.ErrorLevel
	if o.Development {
		newEncoder, level, stacks = newConsole, zap.DebugLevel, zap.WarnLevel
		o.ZapOpts = append(o.ZapOpts, zap.Development())
	}
	if o.DestWriter == nil {
		o.DestWriter = os.Stderr
	}
	if o.NewEncoder == nil {
		o.NewEncoder = newEncoder
	}
	if o.Level == nil {
		o.Level = new(zap.NewAtomicLevelAt(level))
	}
	if o.StacktraceLevel == nil {
		o.StacktraceLevel = new(zap.NewAtomicLevelAt(stacks))
	}
	if !o.Development && !o.Level.Enabled(verbosest) {
		o.ZapOpts = append(o.ZapOpts, zap.WrapCore(func(core zapcore.Core) zapcore.Core {
			return zapcore.NewSamplerWithOptions(core, time.Second, 100, 100)
		}))
	}
	if o.TimeEncoder == nil {
		o.TimeEncoder = zapcore.RFC3339TimeEncoder
	}
	encodeTime := func(c *zapcore.EncoderConfig) { c.EncodeTime = o.TimeEncoder }
	o.EncoderConfigOptions = append([]EncoderConfigOption{encodeTime}, o.EncoderConfigOptions...)
	if o.Encoder == nil {
		o.Encoder = o.NewEncoder(o.EncoderConfigOptions...)
	}
	o.ZapOpts = append(o.ZapOpts, zap.AddStacktrace(o.StacktraceLevel))
}

func newJSON(opts ...EncoderConfigOption) zapcore.Encoder {
	return zapcore.NewJSONEncoder(changed(zap.NewProductionEncoderConfig(), opts))
}

func newConsole(opts ...EncoderConfigOption) zapcore.Encoder {
	return zapcore.NewConsoleEncoder(changed(zap.NewDevelopmentEncoderConfig(), opts))
}

func changed(config zapcore.EncoderConfig, opts []EncoderConfigOption) zapcore.EncoderConfig {
	for _, opt := range opts {
		opt(&config)
	}
	return config
}

// BindFlags adds the flags --zap-devel, --zap-encoder, --zap-log-level, --zap-stacktrace-level and --zap-time-encoding
// to fs.
func (o *Options) BindFlags(fs *flag.FlagSet) {
	fs.BoolVar(&o.Development, "zap-devel", o.Development,
		"Development Mode defaults(encoder=consoleEncoder,logLevel=Debug,stackTraceLevel=Warn). "+
			"Production Mode defaults(encoder=jsonEncoder,logLevel=Info,stackTraceLevel=Error)")
	fs.Var(&setting{kind: "encoder", set: o.setEncoder}, "zap-encoder", "Zap log encoding (one of 'json' or 'console')")
	fs.Var(&setting{kind: "level", set: o.setLevel}, "zap-log-level",
		"Zap Level to configure the verbosity of logging. Can be one of 'debug', 'info', 'error', 'panic'"+
			" or any integer value > 0 which corresponds to custom debug levels of increasing verbosity")
	fs.Var(&setting{kind: "level", set: o.setStacktraceLevel}, "zap-stacktrace-level",
		"Zap Level at and above which stacktraces are captured (one of 'info', 'error', 'panic').")
	fs.Var(&setting{kind: "time-encoding", set: o.setTimeEncoding}, "zap-time-encoding",
		"Zap time encoding (one of 'epoch', 'millis', 'nano', 'iso8601', 'rfc3339' or 'rfc3339nano'). Defaults to 'epoch'.")
}

// setting is a flag of [Options].
type setting struct {
	kind, value string
	set         func(value string) error
}

// String implements flag.Value.
func (s *setting) String() string { return s.value }

// Type returns the type, for pflag.
func (s *setting) Type() string { return s.kind }

// Set implements flag.Value.
func (s *setting) Set(value string) error {
	if err := s.set(value); err != nil {
		return err
	}
	s.value = value
	return nil
}

func (o *Options) setEncoder(value string) error {
	switch strings.ToLower(value) {
	case "json":
		o.NewEncoder = newJSON
	case "console":
		o.NewEncoder = newConsole
	default:
		return fmt.Errorf("invalid encoder value %q", value)
	}
	return nil
}

var levels = map[string]zapcore.Level{
	"debug": zap.DebugLevel, "info": zap.InfoLevel, "error": zap.ErrorLevel, "panic": zap.PanicLevel,
}

func (o *Options) setLevel(value string) error {
	level, named := levels[strings.ToLower(value)]
	if !named {
		verbosity, err := strconv.Atoi(value)
		if err != nil || verbosity <= 0 {
			return fmt.Errorf("invalid log level %q", value)
		}
		level = zapcore.Level(int8(-verbosity))
	}
	o.Level = zap.NewAtomicLevelAt(level)
	return nil
}

func (o *Options) setStacktraceLevel(value string) error {
	level, named := levels[strings.ToLower(value)]
	if !named || level == zap.DebugLevel {
		return fmt.Errorf("invalid stacktrace level %q", value)
	}
	o.StacktraceLevel = zap.NewAtomicLevelAt(level)
	return nil
}

var timeEncoders = map[string]zapcore.TimeEncoder{
	"rfc3339nano": zapcore.RFC3339NanoTimeEncoder, "rfc3339": zapcore.RFC3339TimeEncoder,
	"iso8601": zapcore.ISO8601TimeEncoder, "millis": zapcore.EpochMillisTimeEncoder,
	"nanos": zapcore.EpochNanosTimeEncoder, "epoch": zapcore.EpochTimeEncoder,
}

func (o *Options) setTimeEncoding(value string) error {
	encoder, named := timeEncoders[strings.ToLower(value)]
	if !named {
		return fmt.Errorf("invalid time-encoding value %q", value)
	}
	o.TimeEncoder = encoder
	return nil
}

// KubeAwareEncoder encodes Kubernetes objects by kind, namespace and name, unless it is verbose.
type KubeAwareEncoder struct {
	// Encoder encodes everything else.
	zapcore.Encoder
	// Verbose encodes whole objects.
	Verbose bool
}

// Clone implements zapcore.Encoder.
func (k *KubeAwareEncoder) Clone() zapcore.Encoder {
	return &KubeAwareEncoder{Encoder: k.Encoder.Clone(), Verbose: k.Verbose}
}

// EncodeEntry implements zapcore.Encoder.
func (k *KubeAwareEncoder) EncodeEntry(entry zapcore.Entry, fields []zapcore.Field) (*buffer.Buffer, error) {
	if k.Verbose {
		return k.Encoder.EncodeEntry(entry, fields)
	}
	for i, field := range fields {
		obj, isObject := field.Interface.(runtime.Object)
		if isObject && (field.Type == zapcore.StringerType || field.Type == zapcore.ReflectType) {
			fields[i] = zapcore.Field{Type: zapcore.ObjectMarshalerType, Key: field.Key, Interface: identity{obj}}
		}
	}
	return k.Encoder.EncodeEntry(entry, fields)
}

// identity encodes the identifying fields of an object.
type identity struct{ obj runtime.Object }

// MarshalLogObject implements zapcore.ObjectMarshaler.
func (i identity) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	if v := reflect.ValueOf(i.obj); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("got nil for runtime.Object")
	}
	if gvk := i.obj.GetObjectKind().GroupVersionKind(); gvk.Version != "" {
		enc.AddString("apiVersion", gvk.GroupVersion().String())
		enc.AddString("kind", gvk.Kind)
	}
	metadata, err := meta.Accessor(i.obj)
	if err != nil {
		return fmt.Errorf("got runtime.Object without object metadata: %v", i.obj)
	}
	if namespace := metadata.GetNamespace(); namespace != "" {
		enc.AddString("namespace", namespace)
	}
	enc.AddString("name", metadata.GetName())
	return nil
}
