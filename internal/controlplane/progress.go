package controlplane

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Progress prints the progress of long steps. The zero value prints nothing.
type Progress struct {
	// Out receives the lines.
	Out io.Writer
	// Columns returns the width of the terminal Out, on which updates redraw one line. Nil means that Out is not a
	// terminal. Then each update is a separate line, and updates are less frequent.
	Columns func() int
}

// The intervals of updates, on a terminal and on other outputs.
const (
	redrawInterval = time.Second
	lineInterval   = 30 * time.Second
)

// Step prints the beginning or the end of a step.
func (p Progress) Step(what string) {
	if p.Out != nil {
		fmt.Fprintf(p.Out, "%skctrl: %s\n", p.blank(), what)
	}
}

// blank removes the last drawn line from a terminal.
func (p Progress) blank() string {
	if p.Columns == nil {
		return ""
	}
	return "\x1b[K"
}

// update redraws the line. It cuts the text to the width of the terminal, because a wrapped line cannot be redrawn. The
// cursor stays at the beginning of the line, so that other output replaces the line.
func (p Progress) update(what string) {
	line := "kctrl: " + what
	if columns := p.Columns(); columns > 0 && utf8.RuneCountInString(line) >= columns {
		line = string([]rune(line)[:columns-1])
	}
	io.WriteString(p.Out, p.blank()+line+"\r")
}

// During prints updates at intervals until the returned function is called. That function waits for the last update.
func (p Progress) During(what func() string) (end func()) {
	if p.Out == nil {
		return func() {}
	}
	every, tell := lineInterval, p.Step
	if p.Columns != nil {
		every, tell = redrawInterval, p.update
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for end := ""; ; end = p.blank() {
			select {
			case <-tick.C:
				tell(what())
			case <-stop:
				io.WriteString(p.Out, end)
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-ended
	}
}

// GoBuild runs a go build command, which must have the flag -v, and prints how many packages it has compiled. GoBuild
// returns the messages of the command.
func (p Progress) GoBuild(cmd *exec.Cmd) (messages string, err error) {
	output := &goOutput{began: time.Now(), uncounted: true}
	defer p.During(output.state)()
	cmd.Stdout, cmd.Stderr = output, output
	err = cmd.Run()
	return strings.Join(output.errorLines(), "\n"), err
}

// goOutput parses the output of a running go command. The output contains downloaded modules, packages that go build -v
// begins to compile, and errors.
type goOutput struct {
	began     time.Time
	uncounted bool // total stays 0

	mu         sync.Mutex
	total      int    // packages to compile; 0 while the number is unknown
	line       []byte // the last line, while it is incomplete
	downloaded int
	compiled   int
	first      time.Time // start of the first package
	messages   []string  // lines about neither a module nor a package; only the first and the last mostMessages
}

const (
	mostMessages = 20
	longestLine  = 4 << 10
)

// Write splits the output into lines.
func (o *goOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, ends := bytes.Cut(rest, []byte("\n"))
		o.line = append(o.line, line[:min(len(line), longestLine-len(o.line))]...)
		if ends {
			o.take(string(o.line))
			o.line = o.line[:0]
		}
		rest = after
	}
	return len(p), nil
}

func (o *goOutput) take(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		o.downloaded++
	case line != "" && !strings.ContainsAny(line, " \t:"):
		if o.compiled == 0 {
			o.first = time.Now()
		}
		o.compiled++
	case line != "":
		if len(o.messages) == 2*mostMessages {
			o.messages = append(o.messages[:mostMessages], o.messages[mostMessages+1:]...)
		}
		o.messages = append(o.messages, line)
	}
}

// expect sets the number of packages to compile.
func (o *goOutput) expect(packages int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total = max(packages, 1)
}

// errorLines returns the errors, including a last line without a newline.
func (o *goOutput) errorLines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.line) > 0 {
		o.take(string(o.line))
		o.line = o.line[:0]
	}
	return o.messages
}

// state returns the progress as text.
func (o *goOutput) state() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	elapsed := time.Since(o.began).Round(time.Second)
	switch {
	case o.total == 0 && o.downloaded > 0 && o.compiled == 0:
		return fmt.Sprintf("downloading Go modules: %d so far, %s", o.downloaded, elapsed)
	case o.uncounted && o.compiled > 0:
		return fmt.Sprintf("compiling: %d packages so far, %s", o.compiled, elapsed)
	case o.uncounted:
		return fmt.Sprintf("compiling, %s", elapsed)
	case o.total == 0:
		return fmt.Sprintf("counting packages, %s", elapsed)
	// go build -v does not print the last package, which it links, if that package was compiled before
	case o.compiled >= o.total-1:
		return fmt.Sprintf("linking, %s", elapsed)
	}
	return fmt.Sprintf("compiling: %d of %d packages, %s%s", o.compiled, o.total, elapsed, o.left())
}

// leastCompiled is the number of compiled packages after which the remaining time is estimated. Earlier estimates would
// be wrong, because the first packages are small.
const leastCompiled = 50

// left returns an estimate of the remaining time, or "".
func (o *goOutput) left() string {
	if o.compiled < leastCompiled {
		return ""
	}
	left := time.Since(o.first) * time.Duration(o.total-o.compiled) / time.Duration(o.compiled)
	if left < time.Minute {
		return ", less than a minute left"
	}
	return fmt.Sprintf(", about %d min left", int(left.Round(time.Minute).Minutes()))
}
