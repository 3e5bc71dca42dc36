// Package serve provides the handlers of a manager other than webhooks: probes, pages for authorized clients, and
// profiles. The servers and their addresses belong to the manager.
package serve

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// Pages are handlers by path. The zero value is empty. It is safe for concurrent use.
type Pages struct {
	mu     sync.Mutex
	byPath map[string]page
}

type page struct {
	http.Handler
	owner server.Owner
}

// Add adds the handler of a path, or of all paths below it if it ends in a slash, unless another owner has the path.
func (p *Pages) Add(owner server.Owner, path string, h http.Handler) error {
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("handle %q: want a path that begins with a slash", path)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if other, taken := p.byPath[path]; taken && !owner.Replaces(other.owner) {
		return fmt.Errorf("handle %s: it has another handler", path)
	}
	if p.byPath == nil {
		p.byPath = map[string]page{}
	}
	p.byPath[path] = page{h, owner}
	return nil
}

// find returns the handler of path, or of the closest parent directory.
func (p *Pages) find(path string) http.Handler {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at := path; ; {
		if h := p.byPath[at].Handler; h != nil {
			return h
		}
		folder := strings.TrimSuffix(at, "/")
		slash := strings.LastIndexByte(folder, '/')
		if slash < 0 {
			return nil
		}
		at = folder[:slash+1]
	}
}

// ServeHTTP answers 404 for unknown paths, and 405 for methods other than GET and HEAD.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := p.find(r.URL.Path)
	switch {
	case h == nil:
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
	default:
		w.Header().Set("X-Content-Type-Options", "nosniff")
		h.ServeHTTP(w, r)
	}
}
