package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/fields"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// asks reports whether somebody is there to answer questions.
func (s *streams) asks() bool {
	file, ok := s.in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// form asks questions, one after the other.
type form struct {
	s     *streams
	lines *bufio.Reader
}

func newForm(ctx context.Context, s *streams) *form {
	return &form{s: s, lines: bufio.NewReader(interruptible{ctx, s.in})}
}

// ask returns the answer to a question: what is offered if there is none, and only what check accepts.
func (f *form) ask(question, offered string, check func(string) error) (string, error) {
	for {
		if fmt.Fprint(f.s.err, question); offered != "" {
			fmt.Fprintf(f.s.err, " [%s]", offered)
		}
		fmt.Fprint(f.s.err, ": ")
		line, err := f.lines.ReadString('\n')
		if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
			fmt.Fprintln(f.s.err)
			return "", err
		}
		answer := strings.TrimSpace(line)
		if answer == "" {
			answer = offered
		}
		if err := check(answer); err != nil {
			f.s.problem("", err)
			continue
		}
		return answer, nil
	}
}

// askForKind asks for what the flags of create api do not say. Who ends the input gets the error that is due without answers.
func askForKind(ctx context.Context, s *streams, opts *scaffold.APIOptions) error {
	f := newForm(ctx, s)
	var err error
	if opts.Group == "" {
		opts.Group, err = f.ask("API group, without the domain", "", func(answer string) error {
			if answer == "" {
				return nil
			}
			return project.ValidateGroup(answer)
		})
	}
	if err == nil && opts.Version == "" {
		opts.Version, err = f.ask("Version", "v1", project.ValidateVersion)
	}
	if err == nil && opts.Kind == "" {
		opts.Kind, err = f.ask("Kind, such as Guestbook", "", project.ValidateKind)
	}
	for err == nil && opts.Operand == nil {
		var field string
		field, err = f.ask("Field, such as size:int32,min=1 (none: no more)", "", func(answer string) error {
			if answer == "" {
				return nil
			}
			_, err := fields.Parse(fields.Request{Kind: opts.Kind, Namespaced: opts.Namespaced, Spec: append(opts.Shape.Fields, answer)})
			return err
		})
		if field == "" {
			break
		}
		opts.Shape.Fields = append(opts.Shape.Fields, field)
	}
	if err == nil {
		fmt.Fprintln(s.err)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
