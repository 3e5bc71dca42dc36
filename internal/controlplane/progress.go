package controlplane

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Progress tells a person what takes so long. The zero value tells nobody.
type Progress struct {
	// Out gets the lines.
	Out io.Writer
	// Columns returns the width of the terminal that Out is: there one line is drawn over itself as things go on. Nil is
	// for what is no terminal, which gets a line of its own now and then.
	Columns func() int
}

// How often a person is told: on a terminal, and elsewhere.
const (
	redrawInterval = time.Second
	lineInterval   = 30 * time.Second
)

// Step says that something begins or has ended.
func (p Progress) Step(what string) {
	if p.Out != nil {
		fmt.Fprintf(p.Out, "%skctrl: %s\n", p.blank(), what)
	}
}

// blank is what removes the line that was drawn last.
func (p Progress) blank() string {
	if p.Out == nil || p.Columns == nil {
		return ""
	}
	return "\r\x1b[K"
}

// clear removes the line that was drawn last.
func (p Progress) clear() {
	if blank := p.blank(); blank != "" {
		io.WriteString(p.Out, blank)
	}
}

// update draws over the last update. One that would not fit into a line could not be drawn over, so it is cut.
func (p Progress) update(what string) {
	line := "kctrl: " + what
	if columns := p.Columns(); columns > 0 && utf8.RuneCountInString(line) >= columns {
		line = string([]rune(line)[:columns-1])
	}
	io.WriteString(p.Out, p.blank()+line)
}

// during says what goes on again and again until the function that it returns is called, which waits until nothing more
// is said.
func (p Progress) during(what func() string) (end func()) {
	if p.Out == nil {
		return func() {}
	}
	every, tell := lineInterval, p.Step
	if p.Columns != nil {
		every, tell = redrawInterval, p.update
		tell(what())
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				tell(what())
			case <-stop:
				p.clear()
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-ended
	}
}

// goOutput reads what the go command says while it works: the modules that it downloads, with go build -v the packages
// that it begins to compile, and what is wrong.
type goOutput struct {
	began time.Time

	mu         sync.Mutex
	total      int    // packages to compile; 0 while that is not known
	line       []byte // the last one, while it has no end
	downloaded int
	compiled   int
	first      time.Time // when the first package was begun
	messages   []string  // what is neither a module nor a package: the first and the last mostMessages of it
}

const (
	mostMessages = 20
	longestLine  = 4 << 10
)

// Write takes the lines apart.
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

// expect says how many packages there are to compile.
func (o *goOutput) expect(packages int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total = max(packages, 1)
}

// said returns what was wrong, the last line included that had no end.
func (o *goOutput) said() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.line) > 0 {
		o.take(string(o.line))
		o.line = o.line[:0]
	}
	return o.messages
}

// state says how far it is.
func (o *goOutput) state() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	elapsed := time.Since(o.began).Round(time.Second)
	switch {
	case o.total == 0 && o.downloaded > 0:
		return fmt.Sprintf("downloading Go modules: %d so far, %s", o.downloaded, elapsed)
	case o.total == 0:
		return fmt.Sprintf("counting packages, %s", elapsed)
	case o.compiled >= o.total-1: // go says nothing of the last one, which is linked, when it has compiled it before
		return fmt.Sprintf("linking, %s", elapsed)
	}
	return fmt.Sprintf("compiling: %d of %d packages, %s%s", o.compiled, o.total, elapsed, o.left())
}

// leastCompiled is how many packages tell how long the others will take: the first ones are small.
const leastCompiled = 50

// left says how long it will take, when that can be told.
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
