package store

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// TestListsAndChangesAtEachRevision makes random writes. It compares the list at each revision, and the changes since
// that revision, with maps.
func TestListsAndChangesAtEachRevision(t *testing.T) {
	seeds.Each(t, 20, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := New(1 + random.IntN(40))
		tables := []*Table{s.Table(schema.GroupResource{Resource: "a"}), s.Table(schema.GroupResource{Resource: "b"})}
		now := []map[string]int64{{}, {}}                     // keys and revisions of each table
		was := []map[int64]map[string]int64{{1: {}}, {1: {}}} // by revision
		for range 300 {
			i, key := random.IntN(2), fmt.Sprintf("/%d/%d", random.IntN(3), random.IntN(5))
			record := tables[i].Get(key)
			switch {
			case record != nil && random.IntN(3) == 0:
				last, err := tables[i].Remove(record)
				if last == nil || err != nil || last.Revision != s.Current() {
					t.Fatalf("removed %+v at %d: %v", last, s.Current(), err)
				}
				if again, err := tables[i].Remove(record); again != nil || err != nil {
					t.Fatalf("removed %+v twice: %v", again, err)
				}
				delete(now[i], key)
			default:
				first, err := tables[i].Put(key, record, newRecord())
				second, again := tables[i].Put(key, record, newRecord())
				if err != nil || again != nil || !first || second {
					t.Fatalf("a write over what is not there any more: %v, %v", err, again)
				}
				now[i][key] = s.Current()
			}
			if random.IntN(60) == 0 {
				s.Compact()
			}
			for i := range tables {
				was[i][s.Current()] = maps.Clone(now[i])
			}
		}
		for i, table := range tables {
			for revision, had := range was[i] {
				checkList(t, table, revision, had)
				checkSince(t, table, revision, had, now[i])
			}
		}
	})
}

func newRecord() *Record {
	return &Record{Object: &unstructured.Unstructured{Object: map[string]any{}}}
}

func checkList(t *testing.T, table *Table, revision int64, had map[string]int64) {
	t.Helper()
	for _, prefix := range []string{"/", "/1/"} {
		found, of, err := table.List(prefix, "", revision)
		if errors.Is(err, ErrCompacted) && revision < table.Compacted() {
			continue
		}
		var want, got []string
		for _, key := range slices.Sorted(maps.Keys(had)) {
			if strings.HasPrefix(key, prefix) {
				want = append(want, key+" "+strconv.FormatInt(had[key], 10))
			}
		}
		for _, r := range found {
			got = append(got, r.Key+" "+must.Access(r.Object).GetResourceVersion())
		}
		if err != nil || of != revision || !slices.Equal(got, want) {
			t.Fatalf("at %d under %s: got %v of %d, want %v: %v", revision, prefix, got, of, want, err)
		}
	}
}

// checkSince applies the changes to an earlier state and compares the result with the current one.
func checkSince(t *testing.T, table *Table, revision int64, had, now map[string]int64) {
	t.Helper()
	changes, _, err := table.Since(revision)
	if errors.Is(err, ErrCompacted) && revision < table.Compacted() {
		return
	}
	state := maps.Clone(had)
	for _, c := range changes {
		if c.Previous != nil && c.Previous.Revision != state[c.Key] {
			t.Fatalf("the change %+v is not of %d", c, state[c.Key])
		}
		delete(state, c.Key)
		if c.Current != nil {
			state[c.Key] = c.Current.Revision
		}
	}
	if err != nil || !maps.Equal(state, now) {
		t.Fatalf("since %d: got %v, want %v: %v", revision, state, now, err)
	}
}

// TestConcurrentWritesShareALine keeps the disk busy while writes arrive. A single line of the file must then contain
// these writes in order.
func TestConcurrentWritesShareALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "objects")
	s := New(10)
	if err := s.Open(path, func(schema.GroupResource) {}); err != nil {
		t.Fatal(err)
	}
	table := s.Table(schema.GroupResource{Resource: "things"})
	write := func(key string) {
		d, err := NewDocument(map[string]any{"metadata": map[string]any{"name": key}})
		if err != nil {
			t.Error(err)
		}
		if put, err := table.Put(key, nil, &Record{Document: d}); !put || err != nil {
			t.Errorf("%s: %t, %v", key, put, err)
		}
	}
	const many = 20
	var group sync.WaitGroup
	s.log.syncing.Lock()
	for i := range many {
		group.Go(func() { write(fmt.Sprintf("k%02d", i)) })
	}
	again := make(chan bool)
	for joined := 0; joined < many; runtime.Gosched() {
		s.writing.Lock()
		if joined = 0; s.log.open != nil {
			joined = len(s.log.open.changes)
		}
		s.writing.Unlock()
	}
	go func() { // a second write of an object whose first write is not on the disk yet
		put, err := table.Put("k00", nil, &Record{})
		again <- put || err != nil
	}()
	if records, revision, _ := table.List("", "", 0); len(records) > 0 || revision != 1 {
		t.Errorf("%d objects are seen before they are on the disk, in revision %d", len(records), revision)
	}
	s.log.syncing.Unlock()
	group.Wait()
	if <-again {
		t.Error("an object was made twice")
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(content), "\n"); lines != 2 {
		t.Errorf("the file has %d lines, want a header and one for %d writes", lines, many)
	}
	changes, _, err := table.Since(1)
	if err != nil || len(changes) != many {
		t.Fatalf("%d changes, %v", len(changes), err)
	}
	for i, c := range changes {
		if c.Revision != int64(i)+2 {
			t.Errorf("change %d has revision %d", i, c.Revision)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	other := New(10)
	if err := other.Open(path, func(schema.GroupResource) {}); err != nil {
		t.Fatal(err)
	}
	if records, revision, _ := other.Table(table.resource).List("", "", 0); len(records) != many || revision != many+1 {
		t.Errorf("the file has %d objects in revision %d", len(records), revision)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
}
