package cache

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// server is where a part comes from. It is asked when a write did not say what it has made of an object.
type server struct {
	live      *client.REST
	gvk       schema.GroupVersionKind
	namespace string
	scope     scope
}

var errNoVersion = errors.New("the API server says no version that can be compared")

// stateOf asks what an object is by now.
func (s server) stateOf(ctx context.Context, key object.Key) (answer, error) {
	named := fields.OneTermEqualSelector(nameField, key.Name)
	list, err := s.list(ctx, key.Namespace, client.MatchingFieldsSelector{Selector: named})
	if err != nil {
		return answer{}, err
	}
	a := answer{version: versionOf(list.ResourceVersion)}
	for i := range list.Items {
		if o := &list.Items[i]; object.KeyOf(o) == key {
			a = answer{found: true, version: versionOf(o.ResourceVersion), labels: labels.Set(o.Labels)}
		}
	}
	if a.version == 0 {
		return answer{}, errNoVersion
	}
	return a, nil
}

// version asks how far the server is.
func (s server) version(ctx context.Context) (uint64, error) {
	list, err := s.list(ctx, s.namespace, client.Limit(1))
	if err != nil {
		return 0, err
	}
	version := versionOf(list.ResourceVersion)
	if version == 0 {
		return 0, errNoVersion
	}
	return version, nil
}

// list lists the metadata of what is in scope.
func (s server) list(ctx context.Context, namespace string, option client.ListOption) (*metav1.PartialObjectMetadataList, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(s.gvk.GroupVersion().WithKind(s.gvk.Kind + "List"))
	err := s.live.List(ctx, list, client.InNamespace(namespace), option,
		client.MatchingLabelsSelector{Selector: s.scope.labels}, client.MatchingFieldsSelector{Selector: s.scope.fields})
	return list, err
}

// current returns the write that stands for w by now, or nil when the store has caught up with that; and whether it is vague:
// the server has to be asked before it is known what the store has to catch up with.
func (l *ledger) current(w *write) (now *write, vague bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w = w.current(); w.seen {
		return nil, false
	}
	return w, w.kind == unknown || w.kind == forgotten && w.version == 0
}

// clear asks the server what w comes to, if it is vague, and returns what the store has to catch up with, nil if there is
// nothing. One at a time asks; those who come meanwhile find its answer.
func (p part) clear(ctx context.Context, w *write) (*write, error) {
	for {
		now, vague := p.ledger.current(w)
		if !vague {
			return now, nil
		}
		if err := p.ask(ctx, now); err != nil {
			return nil, err
		}
	}
}

// ask asks the server what w comes to, if it is still vague.
func (p part) ask(ctx context.Context, w *write) error {
	select {
	case p.ledger.asking <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.ledger.asking }()
	w, vague := p.ledger.current(w)
	if !vague {
		return nil
	}
	number := p.ledger.numberNow()
	if w.kind == unknown {
		a, err := p.server.stateOf(ctx, w.key)
		if err == nil {
			p.ledger.answered(w, number, a)
		}
		return err
	}
	version, err := p.server.version(ctx)
	if err == nil {
		p.ledger.bounded(version, number)
	}
	return err
}

// askIfNobodyDoes asks the server how far it is. If that fails, or somebody asks already, another read will.
func (p part) askIfNobodyDoes(ctx context.Context, patience time.Duration) {
	select {
	case p.ledger.asking <- struct{}{}:
	default:
		return
	}
	defer func() { <-p.ledger.asking }()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	number := p.ledger.numberNow()
	if version, err := p.server.version(ctx); err == nil {
		p.ledger.bounded(version, number)
	}
}
