package serve

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// Checks are the checks of a probe. The zero value has no checks, and its probe succeeds.
type Checks struct {
	mu  sync.Mutex
	all []*check // by name, and in order of addition within a name
}

type check struct {
	name  string
	run   func(*http.Request) error
	owner server.Owner // who added the check
}

// Add adds a check, and replaces the check of the same name from an earlier build of the owner. remove removes it.
func (c *Checks) Add(owner server.Owner, name string, run func(*http.Request) error) (remove func()) {
	added := &check{name: name, run: run, owner: owner}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.all, func(other *check) bool { return owner.Replaces(other.owner) && other.name == name })
	if i >= 0 {
		c.all[i] = added
	} else {
		c.all = append(c.all, added)
		slices.SortStableFunc(c.all, func(a, b *check) int { return strings.Compare(a.name, b.name) })
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all = slices.DeleteFunc(c.all, func(other *check) bool { return other == added })
	}
}

// DropBefore removes the checks of earlier builds of an owner.
func (c *Checks) DropBefore(owner server.Owner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(c.all, func(other *check) bool { return owner.Replaces(other.owner) })
}

func (c *Checks) snapshot() []*check {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// ServeHTTP answers with 200 if all checks pass, and with 500 otherwise. With ?verbose, and on failure, the answer
// lists all results. ?exclude=NAME skips a check and may be repeated.
func (c *Checks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	healthy := true
	excluded := r.URL.Query()["exclude"]
	var report strings.Builder
	for _, check := range c.snapshot() {
		if slices.Contains(excluded, check.name) {
			fmt.Fprintf(&report, "[+] %s, excluded\n", check.name)
		} else if err := check.run(r); err != nil {
			healthy = false
			fmt.Fprintf(&report, "[-] %s: %v\n", check.name, strings.ReplaceAll(err.Error(), "\n", "; "))
		} else {
			fmt.Fprintf(&report, "[+] %s\n", check.name)
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if !healthy {
		w.WriteHeader(http.StatusInternalServerError)
	}
	if !healthy || r.URL.Query().Has("verbose") {
		fmt.Fprint(w, report.String())
		return
	}
	fmt.Fprintln(w, "ok")
}

// ServeOne answers for the check whose name is in the path, or for all checks if the name is empty.
func (c *Checks) ServeOne(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if name == "" {
		c.ServeHTTP(w, r)
		return
	}
	one := Checks{all: slices.DeleteFunc(c.snapshot(), func(other *check) bool { return other.name != name })}
	if len(one.all) == 0 {
		http.NotFound(w, r)
		return
	}
	one.ServeHTTP(w, r)
}

// Results returns the result of each check: "ok" or the error.
func (c *Checks) Results(r *http.Request) map[string]string {
	results := map[string]string{}
	for _, check := range c.snapshot() {
		result := "ok"
		if err := check.run(r); err != nil {
			result = err.Error()
		}
		results[check.name] = result
	}
	return results
}
