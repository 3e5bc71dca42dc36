package figure

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	v1 "github.com/kctrl-dev/kctrl/bench/cmd/runtime/api/v1"
)

const (
	// namespaces is over how many namespaces the objects are spread.
	namespaces = 20
	// creators is how many goroutines create objects.
	creators = 16
	// widgets is the path of all objects on the API server.
	widgets = "/apis/bench.example.com/v1/widgets"
)

func namespaceOf(i int) string { return fmt.Sprintf("team-%02d", i%namespaces) }

// NewWidget returns the object of number i, of about 2 KB of JSON once it is on the API server.
func NewWidget(i int) *v1.Widget {
	name := fmt.Sprintf("widget-%06d", i)
	created := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC))
	condition := func(kind, reason string) metav1.Condition {
		return metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: "all replicas of " + name + " are up to date",
			LastTransitionTime: created, ObservedGeneration: 1,
		}
	}
	return &v1.Widget{
		TypeMeta: metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: "Widget"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespaceOf(i),
			Name:      name,
			Labels: map[string]string{
				"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "bench", "app.kubernetes.io/part-of": "shop", "tier": "backend",
			},
			Annotations: map[string]string{
				"bench.example.com/owner": "team-" + fmt.Sprint(i%97), "bench.example.com/checksum": fmt.Sprintf("%064x", i*7919),
			},
			ManagedFields: []metav1.ManagedFieldsEntry{
				managed("kubectl", created, `{"f:metadata":{"f:annotations":{".":{},"f:bench.example.com/owner":{}},"f:labels":{".":{},"f:tier":{}}},`+
					`"f:spec":{".":{},"f:containers":{".":{},"k:{\"name\":\"main\"}":{".":{},"f:args":{},"f:image":{},"f:name":{}}},"f:ports":{},"f:replicas":{}}}`),
				managed("operator", created, `{"f:status":{".":{},"f:conditions":{".":{},"k:{\"type\":\"Ready\"}":{".":{},"f:status":{},"f:type":{}}},`+
					`"f:observedGeneration":{},"f:readyReplicas":{}}}`),
			},
		},
		Spec: v1.WidgetSpec{
			Replicas: int32(i%5 + 1),
			Containers: []v1.Container{{
				Name: "main", Image: "registry.example.com/shop/backend:v1.2.3", Args: []string{"--serve", "--port=8080"},
				Env: []v1.Variable{{Name: "LOG_LEVEL", Value: "info"}, {Name: "SHARD", Value: fmt.Sprint(i)}},
			}},
			Ports: []v1.Port{{Name: "http", Number: 8080}, {Name: "metrics", Number: 9090}},
		},
		Status: v1.WidgetStatus{
			ObservedGeneration: 1, ReadyReplicas: int32(i%5 + 1), Addresses: []string{fmt.Sprintf("10.0.%d.%d", i/256%256, i%256)},
			Conditions: []metav1.Condition{condition("Ready", "Available"), condition("Progressing", "Complete")},
		},
	}
}

func managed(manager string, at metav1.Time, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: v1.GroupVersion.String(), Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// Populate makes the API server have the objects with the numbers below count, and no more. What is there already, from
// an earlier run with the same data folder, is taken for the first of them.
func Populate(ctx context.Context, config *rest.Config, count int) error {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	s := server{httpClient, config.Host}
	have, err := s.count(ctx)
	switch {
	case err != nil:
		return err
	case have > count:
		return fmt.Errorf("the data folder has %d objects, which is more than %d: choose another", have, count)
	case have == count:
		return s.warm(ctx)
	}
	for i := range namespaces {
		namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespaceOf(i)}}
		if err := s.create(ctx, "/api/v1/namespaces", namespace); err != nil {
			return err
		}
	}
	if err := s.createWidgets(ctx, have, count); err != nil {
		return err
	}
	return s.warm(ctx)
}

// server is an API server, as plainly as possible.
type server struct {
	*http.Client
	url string
}

// createWidgets creates the objects from from to to, several at a time.
func (s server) createWidgets(ctx context.Context, from, to int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	next.Store(int64(from))
	var creating sync.WaitGroup
	for range creators {
		creating.Go(func() {
			for i := int(next.Add(1)) - 1; i < to && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				path := "/apis/bench.example.com/v1/namespaces/" + namespaceOf(i) + "/widgets"
				if err := s.create(ctx, path, NewWidget(i)); err != nil {
					cancel(err)
				}
			}
		})
	}
	creating.Wait()
	return context.Cause(ctx)
}

// create creates an object unless it exists.
func (s server) create(ctx context.Context, path string, obj any) error {
	body, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusCreated && response.StatusCode != http.StatusConflict {
		err = fmt.Errorf("create at %s: %s: %s", path, response.Status, answer)
	}
	return err
}

// warm waits until the server answers from its watch cache, which it fills when it is asked for the first time.
func (s server) warm(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+widgets+"?resourceVersion=0", nil)
		if err != nil {
			return err
		}
		response, err := s.Do(request)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode == http.StatusOK {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// count returns how many objects there are.
func (s server) count(ctx context.Context) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+widgets+"?limit=1", nil)
	if err != nil {
		return 0, err
	}
	response, err := s.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var list metav1.PartialObjectMetadataList
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return 0, fmt.Errorf("count the objects: %w", err)
	}
	if list.RemainingItemCount == nil {
		return len(list.Items), nil
	}
	return len(list.Items) + int(*list.RemainingItemCount), nil
}
