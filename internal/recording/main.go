// Command recording writes docs/images/demo.svg, the terminal recording in the README.
//
//	go run ./internal/recording            # draw the picture of docs/images/demo.txt
//	go run ./internal/recording -record    # run docs/images/demo.script first, and write its output to demo.txt
//
// Each line of the script is a command, which the recording shows with its output. "hide COMMAND" runs a command but
// does not show it. "last N PREFIX COMMAND" shows the last N lines of the output that begin with PREFIX. "fails
// COMMAND" shows a command that fails.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

const images = "docs/images"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	record := flag.Bool("record", false, "run the script, and write its output")
	flag.Parse()
	if err := run(ctx, images, *record); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string, record bool) error {
	text := filepath.Join(dir, "demo.txt")
	if record {
		script, err := os.ReadFile(filepath.Join(dir, "demo.script"))
		if err != nil {
			return err
		}
		output, err := play(ctx, string(script))
		if err != nil {
			return err
		}
		if err := os.WriteFile(text, []byte(output), 0o644); err != nil {
			return err
		}
	}
	recorded, err := os.ReadFile(text)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "demo.svg"), []byte(draw(string(recorded))), 0o644)
}
