//go:build linux || darwin

package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Kill ends a part of the control plane with SIGKILL, to simulate a power failure, and waits until the process has
// ended. [Instance.Wait] does not report it as a crash. The parts are etcd, kube-apiserver and kube-controller-manager.
func (i *Instance) Kill(name string) error {
	c, err := i.component(name)
	if err != nil {
		return err
	}
	if c.ended() {
		return fmt.Errorf("%s does not run", name)
	}
	return c.kill()
}

// Restart starts a killed part again with the same address and data. It returns when the API server is ready, or
// immediately if another part is down.
func (i *Instance) Restart(ctx context.Context, name string) error {
	old, err := i.component(name)
	if err != nil {
		return err
	}
	if err := i.replace(old); err != nil {
		return err
	}
	if slices.ContainsFunc(i.all(), (*component).ended) {
		return i.crashed()
	}
	return i.waitReady(ctx)
}

// replace starts a process with the arguments of old.
func (i *Instance) replace(old *component) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case !old.ended():
		return fmt.Errorf("%s is already running", old.name)
	case i.stopped:
		return fmt.Errorf("the control plane has ended")
	}
	fresh, err := startComponent(old.name, i.opts.Dir, old.args, i.opts.Attached)
	if err != nil {
		return err
	}
	i.components[slices.Index(i.components, old)] = fresh
	return nil
}

func (i *Instance) component(name string) (*component, error) {
	all := i.all()
	n := slices.IndexFunc(all, func(c *component) bool { return c.name == name })
	if n < 0 {
		return nil, fmt.Errorf("the control plane has no %s", name)
	}
	return all[n], nil
}

// store returns the URL of etcd for the API server.
func (i *Instance) store() (string, error) {
	if !i.opts.Faults {
		return i.etcd, nil
	}
	at, err := url.Parse(i.etcd)
	if err != nil {
		return "", err
	}
	if i.line, err = newProxy(at.Host); err != nil {
		return "", err
	}
	at.Host = i.line.address()
	return at.String(), nil
}

// Slow delays all bytes between the API server and etcd in both directions, including bytes that were already sent.
// Zero removes the delay. It requires [Options].Faults.
func (i *Instance) Slow(delay time.Duration) error {
	if i.line == nil {
		return fmt.Errorf("the control plane was started without faults")
	}
	i.line.slow(max(0, delay))
	return nil
}

// Compact makes etcd discard all revisions except the current one. An API server keeps its own watch cache until it is
// restarted.
func (i *Instance) Compact(ctx context.Context) error {
	client, err := i.ids.probe()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	var present struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	if err := i.askEtcd(ctx, client, "range", map[string]any{"key": []byte("/")}, &present); err != nil {
		return err
	}
	request := map[string]any{"revision": present.Header.Revision, "physical": true}
	return i.askEtcd(ctx, client, "compaction", request, &struct{}{})
}

// askEtcd calls a method of etcd's key-value service in its JSON form.
func (i *Instance) askEtcd(ctx context.Context, client *http.Client, method string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, i.etcd+"/v3/kv/"+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := client.Do(post)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd %s: %s: %s", method, response.Status, text)
	}
	return json.Unmarshal(text, answer)
}
