package apiserver_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// TestVerbatimAnswersMatchUpstream sends random requests and then reads all objects twice. The server answers the first
// read with stored bytes, as it does for most clients, and the second with upstream's handlers.
func TestVerbatimAnswersMatchUpstream(t *testing.T) {
	seeds.Each(t, 5, func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
			m := newMask()
			for _, a := range requestsOf(1000+seed, "") {
				p.answer(t, m, a)
			}
			for _, path := range []string{
				"/apis/fidelity.kctrl.dev/v1/widgets", "/apis/fidelity.kctrl.dev/v1beta1/widgets",
				"/apis/fidelity.kctrl.dev/v1/gadgets", "/api/v1/configmaps", "/api/v1/secrets",
				"/api/v1/namespaces", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
			} {
				for _, query := range []string{
					"", "?limit=1", "?limit=500&labelSelector=app%3Dx", "?fieldSelector=metadata.name%3Da", "?resourceVersion=0",
					"?resourceVersion=3&resourceVersionMatch=Exact", "?labelSelector=(",
					"?watch=1&timeoutSeconds=1&resourceVersion=1", "?watch=1&timeoutSeconds=1&labelSelector=app%3Dx&resourceVersion=2",
					"?watch=1&timeoutSeconds=1", "?watch=1&timeoutSeconds=x",
					"?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
					"?watch=1&timeoutSeconds=100&allowWatchBookmarks=true",
				} {
					compareWays(t, p, path+query)
				}
			}
			for _, name := range []string{"a", "b", "c", "d", "sentinel"} {
				for _, collection := range []string{"/apis/fidelity.kctrl.dev/v1/namespaces/",
					"/apis/fidelity.kctrl.dev/v1beta1/namespaces/"} {
					compareWays(t, p, fmt.Sprintf("%ss%d/widgets/%s", collection, 1000+seed, name))
				}
			}
			compareWays(t, p, "/api/v1/namespaces/default")
		})
	})
}

func compareWays(t *testing.T, p *peer, path string) {
	t.Helper()
	ask := func(header ...string) string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.host+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			request.Header.Set(header[i], header[i+1])
		}
		response, err := p.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		all := bytes.NewBufferString(response.Status + " " + response.Header.Get("Content-Type") + "\n")
		all.Write(body)
		return all.String()
	}
	verbatim, upstream := ask(), ask("Upgrade", "nothing")
	if verbatim != upstream {
		t.Errorf("%s\n-upstream +verbatim\n%.3000s", path,
			cmp.Diff(strings.Split(upstream, "\n"), strings.Split(verbatim, "\n")))
	}
}
