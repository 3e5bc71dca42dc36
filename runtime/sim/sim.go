// Package sim runs kctrl sim in tests. It simulates a project's operator with crashes, lost responses, conflicts and
// stale reads, in virtual time.
//
//	func TestOperator(t *testing.T) {
//		sim.Run(t, sim.Options{Budget: time.Minute})
//	}
//
// A project can add its own rules: kctrl sim compiles the project's package internal/sim, and checks the rules that its
// function Rules returns. See [Always] and [Eventually].
//
// The environment variable KCTRL has the path of the kctrl command. If it is unset, the command must be in PATH.
package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/internal/testhost"
)

// Options select the plans. The zero value runs all plans for the project that contains the working directory.
type Options struct {
	// Dir is the directory of the project. If it is empty, the project is the nearest directory with a PROJECT file, from
	// the working directory upward.
	Dir string
	// Seed determines the order of requests and events. 0 means 1.
	Seed uint64
	// Plans is the maximum number of plans. 0 means all.
	Plans int
	// Budget is the time after which no further plan starts. 0 means no limit.
	Budget time.Duration
	// Only are the kinds of faults, such as "crash" and "stale". Empty means all.
	Only []string
	// Disable has the names of rules to skip, because they do not hold for this operator.
	Disable []string
}

// report is the output of kctrl sim -o json.
type report struct {
	Run      int `json:"run"`
	Failures []struct {
		Story string `json:"story"`
		Plan  string `json:"plan"`
	} `json:"failures"`
}

// Run runs kctrl sim and returns the number of plans that ran. It reports each failed plan as an error of t, with the
// requests around the fault and the plan. If the operator cannot be simulated, it ends the test.
func Run(t testing.TB, o Options) int {
	t.Helper()
	dir, err := o.directory()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), testhost.Command(), o.arguments(dir)...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	runErr := cmd.Run()
	var result report
	if err := json.NewDecoder(&out).Decode(&result); err != nil {
		t.Fatalf("kctrl sim: %v\n%s", testhost.Explain(runErr), strings.TrimSpace(log.String()))
	}
	for _, failure := range result.Failures {
		t.Errorf("%s\nthe plan, for kctrl sim --replay FILE:\n%s", strings.TrimSpace(failure.Story), failure.Plan)
	}
	return result.Run
}

func (o Options) arguments(dir string) []string {
	args := []string{"sim", "--directory", dir, "--output", "json", "--seed", strconv.FormatUint(max(o.Seed, 1), 10)}
	if o.Plans > 0 {
		args = append(args, "--plans", strconv.Itoa(o.Plans))
	}
	if o.Budget > 0 {
		args = append(args, "--budget", o.Budget.String())
	}
	if len(o.Only) > 0 {
		args = append(args, "--only", strings.Join(o.Only, ","))
	}
	if len(o.Disable) > 0 {
		args = append(args, "--disable", strings.Join(o.Disable, ","))
	}
	return args
}

// directory returns the directory of the project.
func (o Options) directory() (string, error) {
	if o.Dir != "" {
		return o.Dir, nil
	}
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "PROJECT"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no PROJECT file in %s or above it; set Options.Dir to the directory of the project", start)
		}
	}
}
