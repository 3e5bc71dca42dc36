package simulator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/compat/simulated"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/webhook/local"
)

var errNoManager = errors.New("its main function ended and started no manager")

// runMain runs the main function of the operator as the process p, until its manager has ended. In a run, a main
// function begins only after the previous one has started its manager, because package simulated has one current
// process.
func (o *Operator) runMain(p *process, logger *slog.Logger, replicas int) error {
	turn := p.run.turn
	select {
	case turn <- struct{}{}:
	case <-p.ctx.Done():
		return nil
	}
	started := sync.OnceFunc(func() { <-turn })
	logger = slog.New(setupErrors{logger.Handler(), p})
	config := p.config()
	config.Host = "http://127.0.0.1:1" // refuses connections that do not use the transport, such as exec connections
	result, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended) // also if the goroutine ends with its manager
		defer started()
		simulated.Enter(&simulated.Process{
			Context: p.ctx, Config: config, Logger: logger,
			Elects: replicas > 1, Namespace: o.namespace(), Resync: p.run.resyncInterval(),
			ServeWebhooks: func(ctx context.Context, mux *http.ServeMux) error { return o.serveWebhooks(ctx, p, mux) },
			Started: func(scheme *kruntime.Scheme, registry *metrics.Registry) {
				p.setMetrics(registry)
				p.run.setScheme(scheme)
				p.setStarted()
				started()
			},
			Ended: func(err error) {
				select {
				case result <- err:
				default: // the main function has several managers; the first result counts
				}
			},
		})
		o.Main()
	}()
	<-ended
	select {
	case err := <-result:
		return err
	default:
		return errNoManager
	}
}

// setupErrors also prints errors that a main function logs before its manager starts, because the main function may
// then end the program.
type setupErrors struct {
	slog.Handler
	p *process
}

// Handle implements slog.Handler.
func (h setupErrors) Handle(ctx context.Context, record slog.Record) error {
	if record.Level >= slog.LevelError && record.Message != "" && !h.p.hasStarted() && h.p.ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "error:", describe(record, nil))
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h setupErrors) WithAttrs(attrs []slog.Attr) slog.Handler {
	return setupErrors{h.Handler.WithAttrs(attrs), h.p}
}

func (p *process) hasStarted() bool {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	return p.started
}

// setStarted records that the manager of the process starts.
func (p *process) setStarted() {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	p.started = true
}

// endSetup ends the goroutine of a main function if its process has crashed before its manager started. If the main
// function received an error instead, it would end the program.
func (p *process) endSetup() {
	p.run.mu.Lock()
	inSetup := p.run.operator.Main != nil && p.faulty && !p.started
	p.run.mu.Unlock()
	if inSetup {
		runtime.Goexit()
	}
}

// serveWebhooks makes the API server call the webhooks of a mux until ctx ends.
func (o *Operator) serveWebhooks(ctx context.Context, p *process, mux *http.ServeMux) error {
	if len(o.Webhooks) == 0 && !o.converts() {
		<-ctx.Done()
		return nil
	}
	live, err := client.New(p.config(), client.Options{Scheme: kruntime.NewScheme()})
	if err != nil {
		return err
	}
	var configurations []*unstructured.Unstructured
	if len(o.Webhooks) > 0 {
		if configurations, err = local.Load(o.Webhooks...); err != nil {
			return err
		}
	}
	url, release := p.HandleWebhooks(mux)
	defer release()
	i := &local.Installation{
		Client: live, URL: url, Configurations: configurations, Kinds: o.converted(),
		Logger: slog.New(slog.DiscardHandler),
	}
	return i.Run(ctx, func() {})
}

// converted returns the kinds that webhooks convert.
func (o *Operator) converted() []schema.GroupKind {
	var all []schema.GroupKind
	for _, u := range o.Objects {
		if strategy, _, _ := unstructured.NestedString(u.Object, "spec", "conversion", "strategy"); strategy == "Webhook" {
			group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(u.Object, "spec", "names", "kind")
			all = append(all, schema.GroupKind{Group: group, Kind: kind})
		}
	}
	return slices.Clip(all)
}
