package manager_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

const mib = 1 << 20

func TestMemoryIsGivenBackOnceTheProcessIsQuiet(t *testing.T) {
	type look struct{ live, held, allocated uint64 }
	busy := look{100 * mib, 190 * mib, 400 * mib}
	for name, test := range map[string]struct {
		looks []look // the first is that of the start
		trims []int  // after which of them memory was given back
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
		t.Errorf("live %d, held %d and allocated %d became %d, %d and %d", live, held, allocated, liveAfter, heldAfter, allocatedAfter)
	}
	runtime.KeepAlive(kept)
	debug.FreeOSMemory()
	if _, given, _ := manager.ReadHeap(); given > heldAfter-60*mib {
		t.Errorf("%d bytes are held after %d of them were given back", given, heldAfter)
	}
}
