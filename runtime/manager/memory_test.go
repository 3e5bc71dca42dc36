package manager_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

func files(contents map[string]string) fstest.MapFS {
	all := fstest.MapFS{}
	for name, content := range contents {
		all[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return all
}

func TestMemoryLimitIsNineTenthsOfTheCgroup(t *testing.T) {
	const v2 = "0::/kubepods/pod1/c\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"v2": {map[string]string{"proc/self/cgroup": v2,
			"sys/fs/cgroup/kubepods/pod1/c/memory.max": "1000\n"}, 900},
		"v2, that of the pod": {map[string]string{"proc/self/cgroup": v2, "sys/fs/cgroup/kubepods/pod1/c/memory.max": "max\n",
			"sys/fs/cgroup/kubepods/pod1/memory.max": "2000\n"}, 1800},
		"v2, the smallest": {map[string]string{"proc/self/cgroup": v2, "sys/fs/cgroup/kubepods/pod1/c/memory.max": "3000\n",
			"sys/fs/cgroup/kubepods/memory.max": "2000\n"}, 1800},
		"v2, in a container": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n"}, 900},
		"v2, outside of it": {map[string]string{"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/memory.max": "1000\n"},
			900},
		"v1": {map[string]string{"proc/self/cgroup": "5:cpu:/a\n4:hugetlb,memory:/docker/x\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n"}, 900},
		"v1, unlimited": {map[string]string{"proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		"v2, unlimited": {map[string]string{"proc/self/cgroup": v2, "sys/fs/cgroup/kubepods/pod1/c/memory.max": "max\n"}, 0},
		"none":          {nil, 0},
		"nonsense":      {map[string]string{"proc/self/cgroup": "?\n\n", "sys/fs/cgroup/memory.max": "-5"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			log, got := newJournal(), int64(0)
			none := func(string) (string, bool) { return "", false }
			manager.LimitMemoryOf(files(test.files), none, func(limit int64) int64 { got = limit; return 0 }, log.logger())
			if got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
			if test.want != 0 {
				contains(t, log.String(), "memory limit set", "bytes=")
			} else if log.String() != "" {
				t.Errorf("logged %s", log)
			}
		})
	}
}

func TestGOMEMLIMITStandsOverTheCgroup(t *testing.T) {
	env := func(name string) (string, bool) { return "1GiB", name == "GOMEMLIMIT" }
	manager.LimitMemoryOf(files(map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n"}),
		env, func(int64) int64 {
			t.Error("the limit was set")
			return 0
		}, newJournal().logger())
}

const mib = 1 << 20

func TestMemoryIsGivenBackOnceTheProcessIsQuiet(t *testing.T) {
	type look struct{ live, held, allocated uint64 }
	busy := look{100 * mib, 190 * mib, 400 * mib}
	for name, test := range map[string]struct {
		looks []look // the first one is read at the start
		trims []int  // indexes of the looks after which memory was released
	}{
		"quiet after a busy start": {[]look{{}, busy, {100 * mib, 190 * mib, 401 * mib}}, []int{2}},
		"still busy":               {[]look{{}, busy, {100 * mib, 190 * mib, 500 * mib}}, nil},
		"little is spare":          {[]look{{}, busy, {100 * mib, 120 * mib, 401 * mib}}, nil},
		"a small heap":             {[]look{{}, {2 * mib, 5 * mib, 9 * mib}, {2 * mib, 5 * mib, 9 * mib}}, nil},
		"once for each busy time": {[]look{
			{}, busy, {100 * mib, 190 * mib, 401 * mib}, {100 * mib, 190 * mib, 402 * mib}, {100 * mib, 190 * mib, 410 * mib},
			{100 * mib, 190 * mib, 500 * mib}, {100 * mib, 190 * mib, 501 * mib},
		}, []int{2, 6}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, trims := time.Now(), []int(nil)
				at := func() int { return int(time.Since(start) / manager.TrimEvery) }
				trimmer := manager.NewTrimmer(func() (live, held, allocated uint64) {
					l := test.looks[min(at(), len(test.looks)-1)]
					return l.live, l.held, l.allocated
				}, func() { trims = append(trims, at()) })
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(len(test.looks))*manager.TrimEvery-time.Second)
				defer cancel()
				if err := trimmer.Run(ctx); err != nil {
					t.Error(err)
				}
				if !slices.Equal(trims, test.trims) {
					t.Errorf("memory was given back after looks %v, want %v", trims, test.trims)
				}
			})
		})
	}
}

func TestHeapIsReadAsItIs(t *testing.T) {
	live, held, allocated := manager.ReadHeap()
	kept := make([]byte, 64*mib)
	runtime.GC()
	liveAfter, heldAfter, allocatedAfter := manager.ReadHeap()
	if liveAfter < live+60*mib || heldAfter < held || heldAfter < liveAfter || allocatedAfter < allocated+60*mib {
		t.Errorf("live %d, held %d and allocated %d became %d, %d and %d", live, held, allocated, liveAfter, heldAfter,
			allocatedAfter)
	}
	runtime.KeepAlive(kept)
	debug.FreeOSMemory()
	if _, given, _ := manager.ReadHeap(); given > heldAfter-60*mib {
		t.Errorf("%d bytes are held after %d of them were given back", given, heldAfter)
	}
}
