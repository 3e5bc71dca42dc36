package widgets

import (
	"bytes"
	"context"
	_ "embed" // the CRD
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// CRD is the CustomResourceDefinition of the objects. They have no status subresource, so that one request creates a
// complete object.
//
//go:embed v1/bench.example.com_widgets.yaml
var CRD string

// SplitCRD returns the CRD with a status subresource, so that status changes do not change the generation.
func SplitCRD() string {
	const last = "    storage: true\n"
	return strings.Replace(CRD, last, last+"    subresources:\n      status: {}\n", 1)
}

const (
	// creators is the number of goroutines that create objects.
	creators = 16
	// group is the path of the API group, and all is the path of all objects.
	group = "/apis/bench.example.com/v1"
	all   = group + "/widgets"
)

// Server is a minimal client of an API server.
type Server struct {
	client *http.Client
	url    string
}

// Connect returns a client of an API server.
func Connect(config *rest.Config) (*Server, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &Server{client: client, url: config.Host}, nil
}

// Populate makes the API server contain exactly the objects with the numbers below count. Existing objects, from an
// earlier run with the same data directory, count as the first ones. Split selects the kind of [SplitCRD].
func (s *Server) Populate(ctx context.Context, count int, split bool) error {
	have, err := s.Count(ctx)
	switch {
	case err != nil:
		return err
	case have > count:
		return fmt.Errorf("the data directory has %d objects, more than %d; choose another directory", have, count)
	case have == count:
		return s.warm(ctx)
	}
	for i := range namespaces {
		name, _ := KeyOf(i)
		namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}
		if err := s.create(ctx, "/api/v1/namespaces", namespace); err != nil {
			return err
		}
	}
	if err := s.createAll(ctx, have, count, split); err != nil {
		return err
	}
	return s.warm(ctx)
}

// createAll creates the objects with numbers in [from, to) concurrently.
func (s *Server) createAll(ctx context.Context, from, to int, split bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	next.Store(int64(from))
	var creating sync.WaitGroup
	for range creators {
		creating.Go(func() {
			for i := int(next.Add(1)) - 1; i < to && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				namespace, _ := KeyOf(i)
				err := s.create(ctx, group+"/namespaces/"+namespace+"/widgets", New(i))
				if err == nil && split {
					err = s.setStatus(ctx, i)
				}
				if err != nil {
					cancel(err)
				}
			}
		})
	}
	creating.Wait()
	return context.Cause(ctx)
}

// create creates an object unless it exists.
func (s *Server) create(ctx context.Context, path string, obj any) error {
	body, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	answer, status, err := s.send(ctx, http.MethodPost, path, "application/json", body)
	if err == nil && status != http.StatusCreated && status != http.StatusConflict {
		err = fmt.Errorf("create at %s: %d: %s", path, status, answer)
	}
	return err
}

// setStatus writes the status of object i, which the API server dropped on create.
func (s *Server) setStatus(ctx context.Context, i int) error {
	patch, err := json.Marshal(map[string]any{"status": New(i).Status})
	if err != nil {
		return err
	}
	_, err = s.patch(ctx, pathOf(i)+"/status", patch)
	return err
}

// send sends a request and returns the body and the status code of the answer.
func (s *Server) send(ctx context.Context, method, path, contentType string, body []byte) ([]byte, int, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Content-Type", contentType)
	response, err := s.client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return answer, response.StatusCode, err
}

// warm waits until the server answers from its watch cache, which it fills after the first request.
func (s *Server) warm(ctx context.Context) error {
	return s.waitFor(ctx, all+"?resourceVersion=0")
}

// patience is the time limit of waitFor.
const patience = 2 * time.Minute

// waitFor waits until a GET of path returns 200. A server may abort requests after a new CRD.
func (s *Server) waitFor(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		err := s.discard(ctx, path)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// discard gets path, expects status code 200, and discards the answer.
func (s *Server) discard(ctx context.Context, path string) error {
	response, err := s.get(ctx, path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("get %s: %s", path, response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

func (s *Server) get(ctx context.Context, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return nil, err
	}
	return s.client.Do(request)
}

// Count returns the number of objects.
func (s *Server) Count(ctx context.Context) (int, error) {
	response, err := s.get(ctx, all+"?limit=1")
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
