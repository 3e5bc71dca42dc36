package main

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/bench/internal/table"
	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// printOwn prints the figures that have no counterpart.
func printOwn(ctx context.Context) error {
	start, err := measureStart()
	if err != nil {
		return err
	}
	memory, err := measureMemory(ctx)
	if err != nil {
		return err
	}
	added, err := countPackages(ctx)
	if err != nil {
		return err
	}
	fmt.Println("| figure | in memory | limit |\n|---|---:|---:|")
	fmt.Printf("| start to first answer, median, ms | %.2f | 5 |\n", start)
	fmt.Printf("| heap with 10,000 custom resources of 2 KB, MB | %.1f | 60 |\n", memory)
	fmt.Printf("| additional packages in a test of an operator, outside the standard library | %d | |\n", added)
	return nil
}

// measureStart returns the time from the start of a server to its first response, in milliseconds.
func measureStart() (float64, error) {
	var took []float64
	for range 100 {
		start := time.Now()
		server := apiserver.New(apiserver.Options{})
		response, err := (&http.Client{Transport: server.Config().Transport}).Get("http://server/api/v1/namespaces/default")
		if err != nil {
			return 0, err
		}
		response.Body.Close()
		took = append(took, time.Since(start).Seconds()*1000)
		server.Close()
	}
	return table.Median(took), nil
}

// measureMemory returns the heap size of a server with objects, in MB.
func measureMemory(ctx context.Context) (float64, error) {
	scheme, err := newScheme()
	if err != nil {
		return 0, err
	}
	server := apiserver.New(apiserver.Options{})
	defer server.Close()
	s, err := newServer(ctx, "in memory", server.Config(), scheme)
	if err != nil {
		return 0, err
	}
	if err := s.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: made}}); err != nil {
		return 0, err
	}
	before := heap()
	for i := range 10_000 {
		if err := s.client.Create(ctx, widget(made, i)); err != nil {
			return 0, err
		}
	}
	return float64(heap()-before) / 1e6, nil
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// countPackages returns the number of packages that the in-memory server adds to tests that already import testenv.
func countPackages(ctx context.Context) (int, error) {
	packages := func(path string) (map[string]bool, error) {
		out, err := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}",
			path).Output()
		found := map[string]bool{}
		for name := range strings.FieldsSeq(string(out)) {
			found[name] = true
		}
		return found, err
	}
	with, err := packages("github.com/kctrl-dev/kctrl/testserver/inmemory")
	if err != nil {
		return 0, err
	}
	without, err := packages("github.com/kctrl-dev/kctrl/runtime/testenv")
	return len(with) - len(without), err
}
