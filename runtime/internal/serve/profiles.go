package serve

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/internal/httpserver"
)

// Profiles returns the options of the server for /debug/pprof. It does not use net/http/pprof, because that links a
// parser of profiles and registers its handlers with http.DefaultServeMux.
func Profiles(address string) (httpserver.Options, error) {
	address, err := LoopbackUnlessNamed(address)
	if err != nil {
		return httpserver.Options{}, fmt.Errorf("pprof server: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/{$}", listProfiles)
	mux.HandleFunc("GET /debug/pprof/cmdline", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Join(os.Args, "\x00"))
	})
	mux.HandleFunc("GET /debug/pprof/profile", profileCPU)
	mux.HandleFunc("GET /debug/pprof/{name}", writeProfile)
	return httpserver.Options{Name: "pprof", Address: address, Handler: mux, Hasty: true}, nil
}

// LoopbackUnlessNamed returns address, with the loopback address as its host if it has none, such as 6060 and :6060.
func LoopbackUnlessNamed(address string) (string, error) {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port), nil
}

func listProfiles(w http.ResponseWriter, _ *http.Request) {
	for _, profile := range pprof.Profiles() {
		fmt.Fprintf(w, "%s %d\n", profile.Name(), profile.Count())
	}
	fmt.Fprintln(w, "cmdline\nprofile")
}

// writeProfile writes the profile named in the path, in the format of go tool pprof, or as text with ?debug=1.
func writeProfile(w http.ResponseWriter, r *http.Request) {
	profile := pprof.Lookup(r.PathValue("name"))
	if profile == nil {
		http.Error(w, "unknown profile", http.StatusNotFound)
		return
	}
	debug, _ := strconv.Atoi(r.FormValue("debug"))
	if debug == 0 {
		binary(w, profile.Name())
	}
	_ = profile.WriteTo(w, debug) // the client detects errors of the connection
}

// profileCPU profiles the CPU for ?seconds, by default 30, or until the client disconnects.
func profileCPU(w http.ResponseWriter, r *http.Request) {
	length := 30 * time.Second
	if seconds, err := strconv.Atoi(r.FormValue("seconds")); err == nil && seconds > 0 {
		length = time.Duration(seconds) * time.Second
	}
	ctx, cancel := context.WithTimeout(r.Context(), length)
	defer cancel()
	binary(w, "profile")
	begun := &lockedWriter{w: w}
	if err := pprof.StartCPUProfile(begun); err != nil {
		w.Header().Del("Content-Disposition")
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	defer pprof.StopCPUProfile()
	begun.mu.Lock()
	_ = http.NewResponseController(w).Flush() // so that the client sees that the profile has begun
	begun.mu.Unlock()
	<-ctx.Done()
}

// lockedWriter is an answer that another goroutine writes concurrently.
type lockedWriter struct {
	mu sync.Mutex
	w  http.ResponseWriter
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// binary sets the headers of a profile that is not text.
func binary(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
}
