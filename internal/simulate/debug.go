package simulate

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// debugger is the debugger that --debug runs.
const debugger = "dlv"

// checkDebugger returns an error if the debugger is not installed.
func checkDebugger() error {
	_, err := exec.LookPath(debugger)
	if err == nil {
		return nil
	}
	return &diagnostic.Error{
		Message: "no " + debugger + " command on PATH, which --debug runs",
		Hint:    "go install github.com/go-delve/delve/cmd/dlv@latest",
		Cause:   err,
	}
}

// debug runs cmd in a debugger on the terminal, with commands in work that find the project's source files. It returns
// the report that the program writes to output, or nil if the user ends the debugger before that.
func (p *project) debug(cmd *exec.Cmd, work, output string) (*Report, error) {
	commands := filepath.Join(work, "dlv.init")
	find := "config substitute-path " + strconv.Quote(p.module) + " " + strconv.Quote(p.dir) + "\n"
	if err := os.WriteFile(commands, []byte(find), 0o600); err != nil {
		return nil, err
	}
	// The debugger handles interrupts itself, so a context does not end it.
	session := exec.Command(debugger, "exec", cmd.Path, "--init", commands)
	session.Dir, session.Env = cmd.Dir, cmd.Env
	session.Stdin, session.Stdout, session.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := session.Run(); err != nil {
		return nil, &diagnostic.Error{Message: debugger + " exec " + cmd.Path + ": " + err.Error(), Cause: err}
	}
	data, err := os.ReadFile(output)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return readReport(data, false)
}
