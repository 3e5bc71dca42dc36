// Package recorder provides event recorders that write events through kctrl's broadcasters.
package recorder

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/reference"
	"k8s.io/klog/v2"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/events"

	logf "sigs.k8s.io/controller-runtime/pkg/internal/log"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

// Provider provides recorders. It runs as long as its manager.
type Provider struct {
	scheme *runtime.Scheme
	logger logr.Logger
	live   *kclient.REST
	shared record.EventBroadcaster // set by the user; nil if unset

	mu     sync.Mutex
	core   *events.Broadcaster // writes core/v1 events; nil before first use
	modern *events.Broadcaster // writes events.k8s.io/v1 events; nil before first use
	ctx    context.Context     // context of Start; nil before Start
	writes sync.WaitGroup
}

var _ recorder.Provider = (*Provider)(nil)

// New returns a provider for the server of config.
func New(
	config *rest.Config, httpClient *http.Client, s *runtime.Scheme, mapper meta.RESTMapper, logger logr.Logger,
	shared record.EventBroadcaster,
) (*Provider, error) {
	live, err := kclient.New(config, kclient.Options{
		Scheme: scheme.Scheme, HTTPClient: httpClient, Mapper: mapper, Logger: logf.Slog(logger),
	})
	if err != nil {
		return nil, err
	}
	p := &Provider{scheme: s, logger: logger, live: live, shared: shared}
	if shared != nil {
		shared.StartRecordingToSink(sink{live})
	}
	return p, nil
}

// Start writes events until ctx ends, and then writes the remaining recorded ones.
func (p *Provider) Start(ctx context.Context) error {
	p.mu.Lock()
	p.ctx = ctx
	for _, b := range []*events.Broadcaster{p.core, p.modern} {
		if b != nil {
			p.runLocked(b)
		}
	}
	p.mu.Unlock()
	<-ctx.Done()
	p.writes.Wait()
	return nil
}

// NeedLeaderElection returns false: every process writes events.
func (p *Provider) NeedLeaderElection() bool { return false }

func (p *Provider) runLocked(b *events.Broadcaster) {
	p.writes.Go(func() {
		if err := b.Run(p.ctx); err != nil {
			p.logger.Error(err, "events are no longer written")
		}
	})
}

// broadcasterLocked returns the broadcaster at field, and creates it if necessary.
func (p *Provider) broadcasterLocked(
	field **events.Broadcaster, to events.Sink, by events.Correlation,
) *events.Broadcaster {
	if *field == nil {
		*field = events.New(events.Options{
			Scheme: p.scheme, Sink: to, Correlation: by, Logger: logf.Slog(p.logger.V(1)),
		})
		if p.ctx != nil {
			p.runLocked(*field)
		}
	}
	return *field
}

// GetEventRecorderFor implements recorder.Provider.
func (p *Provider) GetEventRecorderFor(name string) record.EventRecorder {
	if p.shared != nil {
		return p.shared.NewRecorder(p.scheme, corev1.EventSource{Component: name})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.broadcasterLocked(&p.core, coreSink{events.NewCoreSink(p.live)}, events.ByCount)
	return coreRecorder{b.Recorder(qualified(name)), p}
}

// GetEventRecorder implements recorder.Provider.
func (p *Provider) GetEventRecorder(name string) recorder.EventRecorder {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.broadcasterLocked(&p.modern, events.NewSink(p.live), events.BySeries)
	return modernRecorder{b.Recorder(qualified(name)), p}
}

// qualified returns name, or a similar qualified name, because servers reject other names.
func qualified(name string) string {
	if len(validation.IsQualifiedName(name)) == 0 {
		return name
	}
	valid := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, name)
	if len(valid) > 63 {
		valid = valid[:63]
	}
	if valid = strings.Trim(valid, "-_."); valid == "" {
		return "controller"
	}
	return valid
}

// coreSink writes core/v1 events without the fields that a recorder of client-go's tools/record leaves empty.
type coreSink struct{ events.Sink }

// Create implements events.Sink.
func (s coreSink) Create(ctx context.Context, e events.Event) error {
	e.Action, e.Instance = "", ""
	return s.Sink.Create(ctx, e)
}

// log passes the reference to object to write, with a logger for events, if the logger's level is enabled.
func (p *Provider) log(object runtime.Object, write func(logr.Logger, *corev1.ObjectReference)) {
	logger := p.logger.V(1)
	if !logger.Enabled() {
		return
	}
	if to, err := reference.GetReference(p.scheme, object); err == nil {
		write(logger, to)
	}
}

// coreRecorder is a recorder in the form of client-go's tools/record.
type coreRecorder struct {
	to  *events.Recorder
	log *Provider
}

func (r coreRecorder) Event(object runtime.Object, eventtype, reason, message string) {
	r.AnnotatedEventf(object, nil, eventtype, reason, "%s", message)
}

func (r coreRecorder) Eventf(object runtime.Object, eventtype, reason, messageFmt string, args ...any) {
	r.AnnotatedEventf(object, nil, eventtype, reason, messageFmt, args...)
}

func (r coreRecorder) AnnotatedEventf(
	object runtime.Object, annotations map[string]string, eventtype, reason, messageFmt string, args ...any,
) {
	to := r.to
	if len(annotations) > 0 {
		to = to.WithAnnotations(annotations)
	}
	r.log.log(object, func(logger logr.Logger, of *corev1.ObjectReference) {
		logger.Info(fmt.Sprintf(messageFmt, args...), "type", eventtype, "object", *of, "reason", reason)
	})
	to.Eventf(object, nil, eventtype, reason, reason, messageFmt, args...)
}

// modernRecorder is a recorder in the form of client-go's tools/events.
type modernRecorder struct {
	to  *events.Recorder
	log *Provider
}

func (r modernRecorder) Eventf(
	regarding, related runtime.Object, eventtype, reason, action, note string, args ...any,
) {
	r.AnnotatedEventf(regarding, related, nil, eventtype, reason, action, note, args...)
}

func (r modernRecorder) AnnotatedEventf(
	regarding, related runtime.Object, annotations map[string]string, eventtype, reason, action, note string, args ...any,
) {
	to := r.to
	if len(annotations) > 0 {
		to = to.WithAnnotations(annotations)
	}
	r.log.log(regarding, func(logger logr.Logger, of *corev1.ObjectReference) {
		logger.Info("Event occurred", "object", klog.KRef(of.Namespace, of.Name), "kind", of.Kind, "apiVersion",
			of.APIVersion, "type", eventtype, "reason", reason, "action", action, "note", fmt.Sprintf(note, args...))
	})
	to.Eventf(regarding, related, eventtype, reason, action, note, args...)
}

// sink writes the events of a broadcaster of client-go.
type sink struct{ to *kclient.REST }

var _ record.EventSink = sink{}

func (s sink) Create(event *corev1.Event) (*corev1.Event, error) {
	written := event.DeepCopy()
	return written, s.to.Create(context.Background(), written)
}

func (s sink) Update(event *corev1.Event) (*corev1.Event, error) {
	written := event.DeepCopy()
	return written, s.to.Update(context.Background(), written)
}

func (s sink) Patch(oldEvent *corev1.Event, data []byte) (*corev1.Event, error) {
	written := oldEvent.DeepCopy()
	patch := kclient.RawPatch(types.StrategicMergePatchType, data)
	return written, s.to.Patch(context.Background(), written, patch)
}
