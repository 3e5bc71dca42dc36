package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/testserver/fakecontrollers"
)

// commandVariable makes the test binary run as kubectl.
const commandVariable = "KUBECTL_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shelves.kubectl.kctrl.dev}
spec:
  group: kubectl.kctrl.dev
  scope: Namespaced
  names: {kind: Shelf, plural: shelves, singular: shelf, shortNames: [sh]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.boards, statusReplicasPath: .status.boards}}
    additionalPrinterColumns: [{name: Boards, type: integer, jsonPath: .spec.boards}]
    schema:
      openAPIV3Schema:
        type: object
        description: Shelf holds books.
        properties:
          spec:
            type: object
            description: Desired state.
            properties:
              boards: {type: integer, minimum: 1, description: Number of boards.}
              color: {type: string}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

const shelf = `apiVersion: kubectl.kctrl.dev/v1
kind: Shelf
metadata: {name: books, labels: {room: hall}}
spec: {boards: %d, color: red}
`

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "nginx:%s"}]}
`

// story runs kubectl with the kubeconfig of a server and a directory for its files.
type story struct {
	*testing.T
	kubeconfig, dir string
}

// kubectl runs a command, expects success or failure, and matches standard output and standard error with want.
func (s *story) kubectl(fails bool, want, stdin string, args ...string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Minute)
	defer cancel()
	command := s.command(ctx, args...)
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	if (err != nil) != fails || !regexp.MustCompile(want).Match(out) {
		s.Errorf("kubectl %s: %v\n%s\nwant %s", strings.Join(args, " "), err, out, want)
	}
	return string(out)
}

func (s *story) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, os.Args[0], args...)
	command.Env = append(os.Environ(), commandVariable+"=1", "KUBECONFIG="+s.kubeconfig, "HOME="+s.dir,
		"KUBECACHEDIR="+filepath.Join(s.dir, "cache"))
	return command
}

// write writes a file of the story and returns its path.
func (s *story) write(name, content string, mode os.FileMode) string {
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		s.Fatal(err)
	}
	return path
}

// TestUsualCommands runs common commands of a real kubectl on the API server of `kctrl env up --in-memory`, or on a
// real one with KCTRL_TEST_SERVER=real.
func TestUsualCommands(t *testing.T) {
	if os.Getenv(testenv.ServerVariable) == "" {
		t.Setenv(testenv.ServerVariable, "in-memory")
	}
	env := testenv.Start(t)
	fakecontrollers.Start(t, env.Config, fakecontrollers.All()...)
	s := &story{t, env.Kubeconfig, t.TempDir()}
	crd := s.write("crd.yaml", definition, 0o600)
	one, two := s.write("one.yaml", fmt.Sprintf(shelf, 1), 0o600), s.write("two.yaml", fmt.Sprintf(shelf, 2), 0o600)

	s.kubectl(false, `"gitVersion": ?"v1\.`, "", "get", "--raw", "/version")
	s.kubectl(false, `customresourcedefinition.apiextensions.k8s.io/shelves.kubectl.kctrl.dev created`, "", "apply", "-f",
		crd)
	s.kubectl(false, `condition met`, "", "wait", "--for=condition=Established", "crd/shelves.kubectl.kctrl.dev")
	s.kubectl(false, `(?m)^deployments +deploy +apps/v1 +true +Deployment$`, "", "api-resources")
	s.kubectl(false, `(?m)^shelves +sh +kubectl.kctrl.dev/v1 +true +Shelf$`, "", "api-resources",
		"--api-group=kubectl.kctrl.dev")
	s.kubectl(false, `(?m)^kubectl.kctrl.dev/v1$`, "", "api-versions")

	s.kubectl(false, `shelf.kubectl.kctrl.dev/books created`, "", "apply", "-f", one)
	s.kubectl(false, `shelf.kubectl.kctrl.dev/books unchanged`, "", "apply", "-f", one)
	s.kubectl(true, `(?s)-  boards: 1.*\+  boards: 2`, "", "diff", "-f", two)
	s.kubectl(false, `shelf.kubectl.kctrl.dev/books configured`, "", "apply", "-f", two)
	s.kubectl(false, `shelf.kubectl.kctrl.dev/books serverside-applied`, "", "apply", "--server-side", "--force-conflicts",
		"-f", one)
	s.kubectl(true, `(?s)Apply failed with 1 conflict.*\.spec\.boards`, "", "apply", "--server-side",
		"--field-manager=other", "-f", two)
	s.kubectl(true, `spec.boards: Invalid value: 0: spec.boards in body should be greater than or equal to 1`,
		fmt.Sprintf(shelf, 0), "apply", "-f", "-")
	s.kubectl(true, `unknown field "spec.boads"`, strings.Replace(fmt.Sprintf(shelf, 1), "boards", "boads", 1), "apply",
		"-f", "-")
	s.kubectl(false, `created \(server dry run\)`, strings.Replace(fmt.Sprintf(shelf, 1), "books", "dry", 1), "apply",
		"--dry-run=server", "-f", "-")
	s.kubectl(false, `(?m)^NAME +BOARDS\nbooks +1$`, "", "get", "sh")
	s.kubectl(false, `^shelf.kubectl.kctrl.dev/books\n$`, "", "get", "shelves", "-l", "room=hall", "-o", "name")
	s.kubectl(false, `color: red`, "", "get", "shelf", "books", "-o", "yaml")
	s.kubectl(false, `^1$`, "", "get", "shelf", "books", "-o", "jsonpath={.spec.boards}")
	s.kubectl(false, `(?m)^books +hall`, "", "get", "shelf", "-o",
		"custom-columns=N:.metadata.name,R:.metadata.labels.room")
	s.kubectl(false, `(?s)Name: +books.*Boards: +1`, "", "describe", "shelf", "books")
	s.kubectl(false, `(?s)Number of boards`, "", "explain", "shelf.spec.boards")
	s.kubectl(false, `(?s)replicas.*<integer>`, "", "explain", "deployment.spec")
	s.kubectl(false, `(?s)FIELD: +containers`, "", "explain", "pod.spec.containers")

	editor := s.write("editor", "#!/bin/sh\nsed -i.bak 's/color: red/color: blue/' \"$1\"\n", 0o700)
	t.Setenv("EDITOR", editor)
	s.kubectl(false, `shelf.kubectl.kctrl.dev/books edited`, "", "edit", "shelf", "books")
	s.kubectl(false, `^blue$`, "", "get", "shelf", "books", "-o", "jsonpath={.spec.color}")
	s.kubectl(false, `books patched`, "", "patch", "shelf", "books", "--type=merge", "-p", `{"spec":{"color":"green"}}`)
	s.kubectl(false, `books patched`, "", "patch", "shelf", "books", "--type=json", "-p",
		`[{"op":"replace","path":"/spec/color","value":"grey"}]`)
	s.kubectl(false, `books patched`, "", "patch", "shelf", "books", "--subresource=status", "--type=merge", "-p",
		`{"status":{"boards":1,"conditions":[{"type":"Ready","status":"True"}]}}`)
	s.kubectl(false, `condition met`, "", "wait", "--for=condition=Ready", "shelf/books")
	s.kubectl(false, `condition met`, "", "wait", "--for=jsonpath={.status.boards}=1", "shelf/books")
	s.kubectl(false, `books labeled`, "", "label", "shelf", "books", "floor=2")
	s.kubectl(false, `books annotated`, "", "annotate", "shelf", "books", "note=hello")
	s.kubectl(false, `books scaled`, "", "scale", "shelf", "books", "--replicas=3")
	s.kubectl(false, `books replaced`, "", "replace", "-f", two)
	s.watch()

	s.kubectl(false, `deployment.apps/web created`, fmt.Sprintf(deployment, 2, "1"), "apply", "-f", "-")
	s.kubectl(false, `deployment "web" successfully rolled out`, "", "rollout", "status", "deployment/web",
		"--timeout=60s")
	s.kubectl(false, `(?m)^web +2/2 +2 +2 `, "", "get", "deployments")
	s.kubectl(false, `condition met`, "", "wait", "--for=condition=Available", "deployment/web", "--timeout=60s")
	s.kubectl(false, `image updated`, "", "set", "image", "deployment/web", "main=nginx:2")
	s.kubectl(false, `successfully rolled out`, "", "rollout", "status", "deployment/web", "--timeout=60s")
	s.kubectl(false, `(?m)^2 `, "", "rollout", "history", "deployment/web")
	s.kubectl(false, `rolled back`, "", "rollout", "undo", "deployment/web")
	s.kubectl(false, `restarted`, "", "rollout", "restart", "deployment/web")
	s.kubectl(false, `(?s)Replicas:.*StrategyType`, "", "describe", "deployment", "web")
	s.kubectl(false, `(?s)Image: +nginx`, "", "describe", "pods")
	s.kubectl(true, `(?i)error`, "", "exec", "deployment/web", "--", "true")
	s.kubectl(false, `scaled`, "", "scale", "deployment/web", "--replicas=1")
	s.kubectl(false, `exposed`, "", "expose", "deployment/web", "--port=80")
	s.kubectl(false, `(?m)^web +ClusterIP`, "", "get", "services")

	s.kubectl(false, `configmap/settings created`, "", "create", "configmap", "settings", "--from-literal=a=b")
	s.kubectl(false, `secret/password created`, "", "create", "secret", "generic", "password", "--from-literal=a=b")
	s.kubectl(false, `namespace/shop created`, "", "create", "namespace", "shop")
	s.kubectl(false, `serviceaccount/keeper created`, "", "create", "serviceaccount", "keeper", "-n", "shop")
	s.kubectl(false, `[\w-]+\.[\w-]+\.[\w-]+`, "", "create", "token", "keeper", "-n", "shop")
	s.kubectl(false, `created`, "", "create", "role", "reader", "--verb=get,list", "--resource=shelves.kubectl.kctrl.dev",
		"-n", "shop")
	s.kubectl(false, `(?m)^yes$`, "", "auth", "can-i", "delete", "shelves")
	s.kubectl(false, `(?s)Username +kubernetes-admin|Username`, "", "auth", "whoami")
	s.kubectl(false, `(?s)settings`, "", "get", "configmaps,secrets", "-A")
	s.kubectl(false, `namespace "shop" deleted`, "", "delete", "namespace", "shop", "--timeout=60s")
	s.kubectl(true, `NotFound`, "", "get", "namespace", "shop")
	s.kubectl(true, `the server doesn't have a resource type "nothing"`, "", "get", "nothing")
	s.kubectl(false, `deleted`, "", "delete", "-f", one, "--wait", "--timeout=30s")
	s.kubectl(false, `deleted`, "", "delete", "deployment", "web", "--cascade=foreground", "--timeout=60s")
	s.kubectl(false, `deleted`, "", "delete", "crd", "shelves.kubectl.kctrl.dev", "--timeout=60s")
	s.kubectl(true, `(?i)not ?found|doesn't have a resource type`, "", "get", "shelves") // cached discovery
	s.kubectl(false, `ok`, "", "get", "--raw", "/readyz")
}

// watch reads from `kubectl get --watch` until it prints a concurrent change.
func (s *story) watch() {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	command := s.command(ctx, "get", "shelf", "books", "--watch", "-o", "jsonpath={.metadata.name} {.spec.color}{\"\\n\"}")
	out, err := command.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := command.Start(); err != nil {
		s.Fatal(err)
	}
	var seen bytes.Buffer
	for changed := false; !strings.Contains(seen.String(), "books white"); {
		chunk := make([]byte, 100)
		n, err := out.Read(chunk)
		if seen.Write(chunk[:n]); err != nil {
			s.Errorf("the watch ended: %v\n%s", err, &seen)
			break
		}
		if !changed {
			changed = true
			s.kubectl(false, `books patched`, "", "patch", "shelf", "books", "--type=merge", "-p", `{"spec":{"color":"white"}}`)
		}
	}
	cancel()
	_ = command.Wait() // the process was killed
}

const hooks = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: labels}
webhooks:
- name: labels.kubectl.kctrl.dev
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "URL/label", caBundle: BUNDLE}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: refuses}
webhooks:
- name: refuses.kubectl.kctrl.dev
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "URL/refuse", caBundle: BUNDLE}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hooks.kubectl.kctrl.dev}
spec:
  group: kubectl.kctrl.dev
  scope: Cluster
  names: {kind: Hook, plural: hooks, singular: hook}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "URL/convert", caBundle: BUNDLE}}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {one: {type: string}}}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {two: {type: string}}}}
`

// answer serves webhooks. The path selects the webhook.
func answer(w http.ResponseWriter, r *http.Request) {
	var review struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Response   map[string]any `json:"response"`
		Request    *struct {
			UID               string           `json:"uid"`
			Name              string           `json:"name"`
			DesiredAPIVersion string           `json:"desiredAPIVersion"`
			Objects           []map[string]any `json:"objects"`
		} `json:"request,omitempty"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request := review.Request
	response := map[string]any{"uid": request.UID, "allowed": true}
	switch r.URL.Path {
	case "/label":
		response["patchType"], response["patch"] = "JSONPatch",
			[]byte(`[{"op":"add","path":"/metadata/labels","value":{"hooked":"yes"}}]`)
	case "/refuse":
		if request.Name == "bad" {
			response["allowed"], response["status"] = false, map[string]any{"message": "not this one"}
		}
	case "/convert":
		for _, object := range request.Objects {
			from, to := "one", "two"
			if strings.HasSuffix(request.DesiredAPIVersion, "/v1") {
				from, to = to, from
			}
			object["apiVersion"], object[to] = request.DesiredAPIVersion, object[from]
			delete(object, from)
		}
		response = map[string]any{"uid": request.UID, "result": map[string]any{"status": "Success"},
			"convertedObjects": request.Objects}
	}
	review.Request, review.Response = nil, response
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// TestWebhooksByURL makes a server in another process call webhooks of this process. The configurations contain the CA.
func TestWebhooksByURL(t *testing.T) {
	if os.Getenv(testenv.ServerVariable) == "" {
		t.Setenv(testenv.ServerVariable, "in-memory")
	}
	server := httptest.NewTLSServer(http.HandlerFunc(answer))
	defer server.Close()
	s := &story{t, testenv.Start(t).Kubeconfig, t.TempDir()}
	bundle := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: server.Certificate().Raw}))
	s.kubectl(false, `created`, strings.NewReplacer("URL", server.URL, "BUNDLE", bundle).Replace(hooks), "apply", "-f",
		"-")
	s.kubectl(false, `condition met`, "", "wait", "--for=condition=Established", "crd/hooks.kubectl.kctrl.dev")
	// A real server applies new configurations after a moment.
	for deadline := time.Now().Add(time.Minute); ; {
		refused, _ := s.command(t.Context(), "create", "configmap", "bad", "--dry-run=server").CombinedOutput()
		out := string(refused)
		if strings.Contains(out, `admission webhook "refuses.kubectl.kctrl.dev" denied the request: not this one`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(out)
		}
	}
	s.kubectl(false, `created`, "", "create", "configmap", "good")
	s.kubectl(false, `^yes$`, "", "get", "configmap", "good", "-o", "jsonpath={.metadata.labels.hooked}")
	s.kubectl(false, `created`, "{apiVersion: kubectl.kctrl.dev/v2, kind: Hook, metadata: {name: h}, two: x}", "create",
		"-f", "-")
	s.kubectl(false, `^kubectl.kctrl.dev/v1 x$`, "", "get", "hooks.v1.kubectl.kctrl.dev", "h", "-o",
		"jsonpath={.apiVersion} {.one}")
	s.kubectl(false, `^kubectl.kctrl.dev/v2 x$`, "", "get", "hooks.v2.kubectl.kctrl.dev", "h", "-o",
		"jsonpath={.apiVersion} {.two}")
	server.Close()
	s.kubectl(true,
		`failed calling webhook "labels.kubectl.kctrl.dev": failed to call webhook: Post `+
			`"https://127.0.0.1:\d+/label\?timeout=10s": dial tcp 127.0.0.1:\d+: connect: connection refused`,
		"", "create", "configmap", "late")
	s.kubectl(true,
		`conversion webhook for kubectl.kctrl.dev/v1, Kind=Hook failed: Post `+
			`"https://127.0.0.1:\d+/convert\?timeout=30s": dial tcp`, "", "get", "hooks.v2.kubectl.kctrl.dev", "h")
}
