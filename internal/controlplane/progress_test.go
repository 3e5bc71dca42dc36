//go:build linux || darwin

package controlplane

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestProgressIsReported checks the printed progress of a simulated compilation of 600 packages, one every half second
// of virtual time.
func TestProgressIsReported(t *testing.T) {
	compile := func(out io.Writer, columns func() int) {
		output := &goOutput{began: time.Now()}
		end := Progress{Out: out, Columns: columns}.During(output.state)
		time.Sleep(1700 * time.Millisecond) // so that updates never coincide with a change
		fmt.Fprint(output, "go: downloading k8s.io/api v1\ngo: downloading k8s.io/klog v2\n")
		time.Sleep(3 * time.Second)
		output.expect(600)
		for range 600 {
			fmt.Fprint(output, "k8s.io/")
			fmt.Fprint(output, "api\n")
			time.Sleep(500 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		end()
		time.Sleep(time.Hour)
	}
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		compile(&out, nil)
		const want = `kctrl: compiling: 51 of 600 packages, 30s, about 5 min left
kctrl: compiling: 111 of 600 packages, 1m0s, about 4 min left
`
		lines := strings.SplitAfter(out.String(), "\n")
		if len(lines) != 11 || lines[0]+lines[1] != want ||
			lines[9] != "kctrl: compiling: 591 of 600 packages, 5m0s, less than a minute left\n" {
			t.Errorf("progress said\n%s", out.String())
		}
		if strings.ContainsAny(out.String(), "\r\x1b") {
			t.Errorf("progress drew %q where there is no terminal", out.String())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		compile(&out, func() int { return 80 })
		frames := strings.Split(strings.TrimPrefix(out.String(), "\x1b[K"), "\r\x1b[K")
		if len(frames) != 315 || frames[len(frames)-1] != "" { // one update per second, and a blank line at the end
			t.Errorf("progress drew %d frames, the last of them %q", len(frames), frames[len(frames)-1])
		}
		for i, want := range map[int]string{
			0: "counting packages, 1s", 1: "downloading Go modules: 2 so far, 2s", 8: "compiling: 9 of 600 packages, 9s",
			30: "compiling: 53 of 600 packages, 31s, about 5 min left", 313: "linking, 5m14s",
		} {
			if len(frames) > i && frames[i] != "kctrl: "+want {
				t.Errorf("frame %d is %q, want %q", i, frames[i], want)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		compile(&out, func() int { return 20 })
		for frame := range strings.SplitSeq(strings.TrimPrefix(out.String(), "\x1b[K"), "\r\x1b[K") {
			if len(frame) >= 20 || strings.Contains(frame, "\n") {
				t.Errorf("progress drew %q, which a terminal of 20 columns cannot draw over", frame)
			}
		}
	})
}

func TestProgressOfAShortStepIsNotDrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		end := Progress{Out: &out, Columns: func() int { return 80 }}.During(func() string { return "step" })
		time.Sleep(900 * time.Millisecond)
		end()
		if out.Len() > 0 {
			t.Errorf("it drew %q", out.String())
		}
	})
}

// TestOutputOfGoIsBounded checks that the result does not depend on where writes split the output, and that only a
// bounded part of a long output is kept.
func TestOutputOfGoIsBounded(t *testing.T) {
	const text = "go: downloading k8s.io/api v1\nk8s.io/api\n# k8s.io/api\nx.go:1:2: broken\na b"
	for cut := range len(text) + 1 {
		output := &goOutput{}
		fmt.Fprint(output, text[:cut])
		fmt.Fprint(output, text[cut:])
		if said := strings.Join(output.errorLines(), "\n"); output.downloaded != 1 || output.compiled != 1 ||
			said != "# k8s.io/api\nx.go:1:2: broken\na b" {
			t.Errorf("cut at %d: %d modules, %d packages, %q", cut, output.downloaded, output.compiled, said)
		}
	}
	output := &goOutput{}
	for i := range 100 {
		fmt.Fprintf(output, "line %d%s\n", i, strings.Repeat("x", 100<<10))
	}
	said := output.errorLines()
	if len(said) != 2*mostMessages || !strings.HasPrefix(said[0], "line 0") ||
		!strings.HasPrefix(said[len(said)-1], "line 99") || len(said[3]) != longestLine {
		t.Errorf("%d lines are kept, from %.10q to %.10q", len(said), said[0], said[len(said)-1])
	}
}

func TestUncountedPackagesAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		output := &goOutput{began: time.Now(), uncounted: true}
		for _, step := range []struct{ line, want string }{
			{"", "compiling, 1s"},
			{"go: downloading k8s.io/api v1\n", "downloading Go modules: 1 so far, 2s"},
			{"k8s.io/api\n", "compiling: 1 packages so far, 3s"},
			{"# example.com/operator\ncmd/main.go:3:1: undefined: x\n", "compiling: 1 packages so far, 4s"},
		} {
			fmt.Fprint(output, step.line)
			time.Sleep(time.Second)
			if got := output.state(); got != step.want {
				t.Errorf("after %q: %q, want %q", step.line, got, step.want)
			}
		}
		if got := strings.Join(output.errorLines(), "|"); got != "# example.com/operator|cmd/main.go:3:1: undefined: x" {
			t.Errorf("messages: %q", got)
		}
	})
}
