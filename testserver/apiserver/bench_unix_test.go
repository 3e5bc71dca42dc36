//go:build unix

package apiserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

const benchPath = "/apis/bench.example.com/v1/namespaces/default/widgets"

// BenchmarkWrites reports the CPU time of one write of a custom resource of 2 KB, including the client: with the
// server's shortcuts, and with upstream's code only.
func BenchmarkWrites(b *testing.B) {
	definition, err := os.ReadFile("../../bench/internal/widgets/v1/bench.example.com_widgets.yaml")
	if err != nil {
		b.Fatal(err)
	}
	if definition, err = yaml.YAMLToJSON(definition); err != nil {
		b.Fatal(err)
	}
	for _, way := range []string{"shortcuts", "upstream"} {
		server := apiserver.New(apiserver.Options{})
		if way == "upstream" {
			apiserver.WithoutShortcuts(server)
		}
		p := newPeer(b, "in memory", server)
		benchWrite(b, p, http.StatusCreated, asked{method: "POST",
			path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body: string(definition)})
		p.await(b, benchPath)
		b.Run(way, func(b *testing.B) { benchmarkWrites(b, p) })
	}
}

func benchmarkWrites(b *testing.B, p *peer) {
	measure := func(name string, want int, of func(b *testing.B, i int) asked) {
		count := 0
		b.Run(name, func(b *testing.B) {
			var spent time.Duration
			for b.Loop() {
				count++
				a := of(b, count)
				before := cpu(b)
				benchWrite(b, p, want, a)
				spent += cpu(b) - before
			}
			b.ReportMetric(float64(spent.Nanoseconds())/1000/float64(b.N), "cpu-µs/op")
		})
	}
	measure("create", http.StatusCreated, func(_ *testing.B, i int) asked {
		return asked{method: "POST", path: benchPath, body: benchObject(fmt.Sprintf("c%d", i), "", 1)}
	})
	benchWrite(b, p, http.StatusCreated, asked{method: "POST", path: benchPath, body: benchObject("u", "", 1)})
	measure("update", http.StatusOK, func(b *testing.B, i int) asked {
		var live struct {
			Metadata struct{ ResourceVersion string }
		}
		_, body, _ := p.do(b, asked{method: "GET", path: benchPath + "/u"})
		if err := json.Unmarshal(body, &live); err != nil {
			b.Fatal(err)
		}
		return asked{method: "PUT", path: benchPath + "/u", body: benchObject("u", live.Metadata.ResourceVersion, i)}
	})
	measure("merge patch", http.StatusOK, func(_ *testing.B, i int) asked {
		return asked{method: "PATCH", path: benchPath + "/u", contentType: "application/merge-patch+json",
			body: fmt.Sprintf(`{"spec":{"replicas":%d}}`, i)}
	})
	measure("apply", http.StatusOK, func(_ *testing.B, i int) asked {
		return asked{method: "PATCH", path: benchPath + "/u?fieldManager=one&force=true",
			contentType: "application/apply-patch+yaml", body: benchObject("u", "", i)}
	})
}

func benchWrite(b *testing.B, p *peer, want int, a asked) {
	if status, body, _ := p.do(b, a); status != want {
		b.Fatalf("%s %s: %d %.300s", a.method, a.path, status, body)
	}
}

// benchObject returns a Widget whose stored form has 2 KB.
func benchObject(name, version string, replicas int) string {
	condition := func(of string) any {
		return map[string]any{"type": of, "status": "True", "reason": "Available", "message": "all replicas of " + name +
			" are up to date", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}
	}
	return object("bench.example.com/v1", "Widget", name, version, map[string]any{
		"metadata": map[string]any{
			"labels": map[string]any{"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "bench",
				"app.kubernetes.io/part-of": "shop", "tier": "backend"},
			"annotations": map[string]any{"bench.example.com/owner": "team", "bench.example.com/checksum": strings.Repeat("0",
				64)},
		},
		"spec": map[string]any{
			"replicas": replicas,
			"containers": []any{map[string]any{
				"name": "main", "image": "registry.example.com/shop/backend:v1.2.3", "args": []any{"--serve", "--port=8080"},
				"env": []any{map[string]any{"name": "LOG_LEVEL", "value": "info"}, map[string]any{"name": "SHARD", "value": "1"}},
			}},
			"ports": []any{map[string]any{"name": "http", "number": 8080}, map[string]any{"name": "metrics", "number": 9090}},
		},
		"status": map[string]any{"observedGeneration": 1, "readyReplicas": replicas, "addresses": []any{"10.0.0.1"},
			"conditions": []any{condition("Ready"), condition("Progressing")}},
	})
}

// cpu returns the CPU time of the process.
func cpu(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
