package apiserver_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// writerVariable makes the test binary write to a server with a file until it is killed.
const writerVariable = "KCTRL_TEST_WAL_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerVariable); path != "" {
		if err := writeUntilKilled(context.Background(), path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func open(t *testing.T, path string) *apiserver.Server {
	t.Helper()
	server, err := apiserver.Open(path, apiserver.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

func clientOf(server *apiserver.Server) (*client.REST, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return client.New(server.Config(), client.Options{Scheme: scheme})
}

const crate = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"crates.kept.example.com"},"spec":{
	"group":"kept.example.com","scope":"Namespaced","names":{"kind":"Crate","listKind":"CrateList","plural":"crates","singular":"crate"},
	"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{
		"spec":{"type":"object","properties":{"size":{"type":"integer","default":3},"weight":{"type":"number"}}}}}}}]}}`

// state returns the objects of a server by resource and name, with their versions and UIDs.
func state(t *testing.T, server *apiserver.Server) map[string]string {
	t.Helper()
	live, err := clientOf(server)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, kind := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Namespace"}, {Group: "apiextensions.k8s.io", Version: "v1",
			Kind: "CustomResourceDefinition"},
		{Group: "kept.example.com", Version: "v1", Kind: "Crate"}, {Group: "rbac.authorization.k8s.io", Version: "v1",
			Kind: "ClusterRole"},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := live.List(t.Context(), list); err != nil {
			continue // the resource is missing, because its CRD does not exist
		}
		for _, item := range list.Items {
			text, err := item.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			all[kind.Kind+" "+item.GetNamespace()+"/"+item.GetName()] = string(text)
		}
	}
	return all
}

func compareStates(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s: %s is\n%s\nwant\n%s", what, name, got[name], want[name])
		}
	}
	for name := range got {
		if want[name] == "" {
			t.Errorf("%s: %s is there", what, name)
		}
	}
}

// fill writes objects of Go types, a CRD and custom resources, and then changes and deletes some of them.
func fill(t *testing.T, server *apiserver.Server) {
	t.Helper()
	live, err := clientOf(server)
	if err != nil {
		t.Fatal(err)
	}
	create := func(text string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := live.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		return u
	}
	create(crate)
	for i := range 5 {
		box := create(fmt.Sprintf(`{"apiVersion":"kept.example.com/v1","kind":"Crate","metadata":{"namespace":"default","name":"c%d"},"spec":{"weight":%d.5}}`, i, i))
		if err := unstructured.SetNestedField(box.Object, int64(i), "spec", "size"); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			err = live.Update(t.Context(), box)
		}
		if i == 3 {
			err = live.Delete(t.Context(), box)
		}
		if err != nil {
			t.Fatal(err)
		}
		create(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"m%d","finalizers":["kept.example.com/x"]},"data":{"key":"line\nline é"}}`, i))
	}
	if err := live.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
		Name: "m1"}}); err != nil {
		t.Fatal(err) // a finalizer keeps the object, so it is only marked as deleted
	}
}

func TestObjectsOutliveTheServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "objects")
	first := open(t, path)
	fill(t, first)
	want := state(t, first)
	if want["ClusterRole /cluster-admin"] == "" {
		t.Error("there is no role of administrators")
	}
	first.Close()
	if live, err := clientOf(first); err == nil {
		if err := live.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
			Name: "late"}}); err == nil {
			t.Error("a server that has ended took a write")
		}
	}
	second := open(t, path)
	compareStates(t, "after a restart", state(t, second), want)

	live, err := clientOf(second)
	if err != nil {
		t.Fatal(err)
	}
	latest := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "new"}}
	if err := live.Create(t.Context(), latest); err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if strings.Contains(text, string(latest.UID)) ||
			strings.Contains(text, fmt.Sprintf(`"resourceVersion":%q`, latest.ResourceVersion)) {
			t.Errorf("a new object has the UID or the version of %s: %s", name, text)
		}
	}
	// The server has no history from before the restart, and must report that to watchers.
	watcher, err := client.NewListWatcher(live, &corev1.ConfigMap{}, client.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := watcher.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "2"})
	if err == nil {
		_, err = stream.Next()
		stream.Close()
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("a watch from before the restart: %v", err)
	}
}

// TestEveryPrefixOfTheFileIsAState cuts the file at each byte. The rest must be the state after some number of writes.
func TestEveryPrefixOfTheFileIsAState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "objects")
	server := open(t, path)
	fill(t, server)
	server.Close()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	header := strings.IndexByte(string(content), '\n') + 1
	before, ends := map[string]string(nil), 0
	for end := header; end <= len(content); end++ {
		if boundary := content[end-1] == '\n'; !boundary && end%97 != 0 {
			continue // to save time, open a server for only some of the bytes within a line
		}
		cut := filepath.Join(t.TempDir(), "objects")
		if err := os.WriteFile(cut, content[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		server := open(t, cut)
		now := state(t, server)
		server.Close()
		if content[end-1] == '\n' {
			before, ends = now, ends+1
			continue
		}
		compareStates(t, fmt.Sprintf("cut at %d of %d", end, len(content)), withoutFresh(now), withoutFresh(before))
	}
	if ends < 20 {
		t.Errorf("the file has %d lines", ends)
	}
}

// withoutFresh removes the objects and fields that a server creates again if they are missing: namespaces, roles, and
// the times of conditions.
func withoutFresh(state map[string]string) map[string]string {
	kept := map[string]string{}
	for name, text := range state {
		if !strings.HasPrefix(name, "Namespace ") && !strings.HasPrefix(name, "ClusterRole ") {
			kept[name] = moments.ReplaceAllString(text, "TIME")
		}
	}
	return kept
}

var moments = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

func TestDamagedFilesAreRejectedUnchanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "objects")
	server := open(t, path)
	fill(t, server)
	server.Close()
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(good)
	flipped[len(flipped)/2] ^= 1
	lastFlipped := slices.Clone(good)
	lastFlipped[len(lastFlipped)-10] ^= 1
	for name, c := range map[string]struct {
		content []byte
		message string
	}{
		"a byte":       {flipped, "the line is damaged"},
		"the last":     {lastFlipped, "the line is damaged"},
		"empty":        {nil, ":1: this is not a file of objects"},
		"other":        {[]byte("hello\nworld\n"), ":1: this is not a file of objects"},
		"a line gone":  {append([]byte("x"), good...), ":1: this is not a file of objects"},
		"a newer kind": {newer(), "a newer kctrl wrote it, in version 3 of the format: this one knows version 2"},
	} {
		if err := os.WriteFile(path, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := apiserver.Open(path, apiserver.Options{})
		data, ok := errors.AsType[*apiserver.DataError](err)
		if !ok || data.Path != path || data.Line == 0 || !strings.Contains(err.Error(), c.message) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q", name, err, c.message)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != string(c.content) {
			t.Errorf("%s: the file was changed, %v", name, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := apiserver.Open(path, apiserver.Options{}); err == nil {
		t.Error("a directory was opened")
	}
	// A power failure may leave zeros at the end of the last line.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(slices.Clone(good), "00000000 {\x00\x00\x00\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, path).Close()
}

func newer() []byte {
	text := `{"format":"kctrl API server","version":3,"revision":1,"more":true}`
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)), text)
}

func TestFileSizeIsBoundedByObjects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "objects")
	server := open(t, path)
	live, err := clientOf(server)
	if err != nil {
		t.Fatal(err)
	}
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "large"}}
	if err := live.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	var largest int64
	for i := range 40 {
		m.Data = map[string]string{"data": strings.Repeat("x", 512<<10), "i": fmt.Sprint(i)}
		if err := live.Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, info.Size())
	}
	if largest > 8<<20 {
		t.Errorf("the file of an object of 0.5 MB has %d bytes after 20 MB of writes", largest)
	}
	want := state(t, server)
	server.Close()
	compareStates(t, "after rewrites", state(t, open(t, path)), want)
}

// writers is the number of concurrent writers. Each writer has its own objects.
const writers = 4

// writeUntilKilled writes objects and prints each acknowledged write.
func writeUntilKilled(ctx context.Context, path string) error {
	server, err := apiserver.Open(path, apiserver.Options{Seed: uint64(os.Getpid())})
	if err != nil {
		return err
	}
	live, err := clientOf(server)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for w := range writers {
		go func() {
			for i := w; ; i += writers {
				line, err := writeOne(ctx, live, i)
				if err == nil {
					_, err = os.Stdout.WriteString(line) // one call, so that lines stay intact
				}
				if err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

// writeOne creates, updates or deletes an object, and returns its name and version.
func writeOne(ctx context.Context, live *client.REST, i int) (string, error) {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("m%d", i%20)},
		Data: map[string]string{"data": strings.Repeat("x", rand.IntN(200<<10))}}
	err := live.Create(ctx, m)
	switch {
	case apierrors.IsAlreadyExists(err) && i%3 == 0:
		return m.Name + " gone\n", live.Delete(ctx, m)
	case apierrors.IsAlreadyExists(err):
		current := &corev1.ConfigMap{}
		if err := live.Get(ctx, types.NamespacedName{Namespace: "default", Name: m.Name}, current); err != nil {
			return "", err
		}
		current.Data = m.Data
		err := live.Update(ctx, current)
		return m.Name + " " + current.ResourceVersion + "\n", err
	}
	return m.Name + " " + m.ResourceVersion + "\n", err
}

// TestKilledProcessKeepsAcknowledgedWrites kills a writing process repeatedly, and compares the file with the writes
// that were acknowledged.
func TestKilledProcessKeepsAcknowledgedWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "objects")
	answered := map[string]string{}
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 12 {
		writer := exec.CommandContext(t.Context(), os.Args[0])
		writer.Env = append(os.Environ(), writerVariable+"="+path)
		var complaints strings.Builder
		writer.Stderr = &complaints
		stdout, err := writer.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		writes, last := 0, ""
		wanted := 1 + random.IntN(60)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			name, version, _ := strings.Cut(lines.Text(), " ")
			answered[name], last = version, name
			if writes++; writes == wanted {
				kill := time.AfterFunc(time.Duration(random.IntN(3000))*time.Microsecond, func() { _ = writer.Process.Kill() })
				defer kill.Stop()
			}
		}
		_ = writer.Wait() // the process was killed
		if writes < wanted {
			t.Fatalf("round %d: the writer ended by itself: %s", round, &complaints)
		}
		server, err := apiserver.Open(path, apiserver.Options{Seed: 1})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		differ := compareAnswered(t, server, answered)
		if len(differ) > writers {
			t.Fatalf("round %d, the last write answered was %s: %q are not as they were answered", round, last, differ)
		}
		server.Close()
	}
}

// compareAnswered returns the objects that differ from the answer to their last write. It then records their current
// state.
func compareAnswered(t *testing.T, server *apiserver.Server, answered map[string]string) (differ []string) {
	t.Helper()
	live, err := clientOf(server)
	if err != nil {
		t.Fatal(err)
	}
	list := &corev1.ConfigMapList{}
	if err := live.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	now := map[string]string{}
	for _, m := range list.Items {
		now[m.Name] = m.ResourceVersion
	}
	for i := range 20 {
		name := fmt.Sprintf("m%d", i)
		was, is := answered[name], now[name]
		if was == "gone" {
			was = ""
		}
		if was != is {
			differ = append(differ, fmt.Sprintf("%s: %q, answered %q", name, is, was))
		}
		if answered[name] = is; is == "" {
			answered[name] = "gone"
		}
	}
	return differ
}

func TestRepairKeepsAllReadableLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "objects")
	server, err := apiserver.Open(path, apiserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if report, err := apiserver.Repair(path); report != "" || err != nil {
		t.Errorf("of a file without damage: %q, %v", report, err)
	}
	lines := bytes.SplitAfter(good, []byte("\n"))
	damaged := slices.Clone(good)
	damaged[len(lines[0])+len(lines[1])-3] ^= 1
	damaged = append(damaged, "garbage\n"...)
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s:2: byte %d: the line is damaged", path, len(lines[0]))
	if _, err := apiserver.Open(path, apiserver.Options{}); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("Open: %v", err)
	}
	report, err := apiserver.Repair(path)
	lost := len(lines[1]) + len("garbage\n")
	if want := fmt.Sprintf("%s: dropped 2 damaged lines of %d (%d bytes); the damaged file is %[1]s.damaged", path,
		len(lines), lost); report != want || err != nil {
		t.Errorf("got %q, %v, want %q", report, err, want)
	}
	if copied, err := os.ReadFile(path + ".damaged"); err != nil || !bytes.Equal(copied, damaged) {
		t.Errorf("the copy is not the damaged file: %v", err)
	}
	server, err = apiserver.Open(path, apiserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	if err := os.WriteFile(path, []byte("a letter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if report, err := apiserver.Repair(path); err == nil {
		t.Errorf("repair of another file: %q", report)
	}
}
