package main

import (
	"os"
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptAwait is `await FILE PATTERN`: it waits until the output of a background program in a file matches.
func scriptAwait(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 2 {
		ts.Fatalf("usage: await file pattern")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	name := ts.MkAbs(args[0])
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	limit := time.After(time.Minute)
	for {
		content, err := os.ReadFile(name)
		if err == nil && pattern.Match(content) {
			return
		}
		select {
		case <-ticker.C:
		case <-limit:
			ts.Fatalf("%s has nothing that matches %q after a minute:\n%s", args[0], args[1], content)
		}
	}
}
