package widgets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// State has the fields of an object that changes affect.
type State struct {
	Metadata struct {
		Namespace       string `json:"namespace"`
		Name            string `json:"name"`
		Generation      int64  `json:"generation"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
	} `json:"status"`
}

// Event is a watch event.
type Event struct {
	Type   string `json:"type"`
	Object State  `json:"object"`
}

func pathOf(i int) string {
	namespace, name := KeyOf(i)
	return group + "/namespaces/" + namespace + "/widgets/" + name
}

// Patch merges patch into object i. It does not change the status of the kind of [SplitCRD].
func (s *Server) Patch(ctx context.Context, i int, patch string) (State, error) {
	return s.patch(ctx, pathOf(i), []byte(patch))
}

func (s *Server) patch(ctx context.Context, path string, patch []byte) (State, error) {
	answer, status, err := s.send(ctx, http.MethodPatch, path, string(types.MergePatchType), patch)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("patch of %s: %d: %s", path, status, answer)
	}
	if err != nil {
		return State{}, err
	}
	var state State
	return state, json.Unmarshal(answer, &state)
}

// Watch calls see for each change after it has called started, until ctx ends. It starts another watch if the server
// ends one, for example because it cannot keep up.
func (s *Server) Watch(ctx context.Context, started func(), see func(Event)) error {
	version, err := s.version(ctx)
	for onStart := started; err == nil; onStart = func() { fmt.Fprintln(os.Stderr, "the server ended a watch") } {
		err = s.watchFrom(ctx, &version, onStart, see)
	}
	return err
}

// version returns the resource version of the collection.
func (s *Server) version(ctx context.Context) (string, error) {
	response, err := s.get(ctx, all+"?limit=1")
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var list State
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return "", fmt.Errorf("version of the objects: %w", err)
	}
	return list.Metadata.ResourceVersion, nil
}

// watchFrom watches changes after version, which it updates. It returns nil when the server ends the watch.
func (s *Server) watchFrom(ctx context.Context, version *string, started func(), see func(Event)) error {
	response, err := s.get(ctx, all+"?watch=true&resourceVersion="+*version)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(response.Body)
		return fmt.Errorf("watch: %s: %s", response.Status, answer)
	}
	started()
	for decoder := json.NewDecoder(response.Body); ; {
		var event Event
		err := decoder.Decode(&event)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("watch: %w", err)
		case event.Type == string(watch.Error):
			return errors.New("watch: version too old")
		}
		*version = event.Object.Metadata.ResourceVersion
		see(event)
	}
}
