// Package language finds strings that match some regular expressions and do not match others.
//
// The patterns in schemas are regular, so the problem is decidable: [Find] searches the product of their automata and
// returns a shortest string, or reports that no such string exists.
package language

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// Query describes the strings to find.
type Query struct {
	// The string matches all expressions in Match and none in Avoid. Matches may be anywhere in the string.
	Match, Avoid []string
	// Min and Max limit the number of characters. A negative Max means no limit.
	Min, Max int
}

// Answer is the result of a search.
type Answer struct {
	// Text is a shortest string, if Found is true.
	Text  string
	Found bool
	// Complete reports whether the search was exhaustive: if Found is false, no such string exists.
	Complete bool
}

const (
	mostStates = 20_000  // of the product automaton
	mostSteps  = 400_000 // transitions of the search
)

// Find searches for a string. It returns an error for an invalid expression.
func Find(q Query) (Answer, error) {
	s := &search{query: q, ids: map[string]int{}}
	for _, pattern := range slices.Concat(q.Match, q.Avoid) {
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			return Answer{}, err
		}
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			return Answer{}, err
		}
		s.programs = append(s.programs, program)
	}
	s.alphabet = alphabet(s.programs)
	return s.run(), nil
}

// search is one search of the product of the automata.
type search struct {
	query    Query
	programs []*syntax.Prog
	alphabet []rune
	states   []state
	ids      map[string]int
	steps    int
}

// state is a state of the product automaton.
type state struct {
	// threads contains, for each program, the instructions at which a match may continue. done reports for each program
	// whether it has matched.
	threads [][]uint32
	done    []bool
	// before is a character of the same kind as the last one, or -1 at the beginning. Word boundaries and line anchors
	// depend on it.
	before rune
	// next has, for each character of the alphabet, the index of the next state plus one. 0 means unknown.
	next []int
	// accepted reports whether the string may end here: 1 means yes, -1 no, 0 unknown.
	accepted int
}

// link is a step of the search: the reached state, the character, and the previous step.
type link struct {
	state, before int
	char          rune
}

// run searches strings in order of their length.
func (s *search) run() Answer {
	first := state{threads: make([][]uint32, len(s.programs)), done: make([]bool, len(s.programs)), before: -1}
	links := []link{{state: s.intern(first), before: -1}}
	seen := map[int]bool{}
	layer := []int{0} // indexes of links
	for length := 0; len(layer) > 0; length++ {
		if length >= s.query.Min {
			for _, i := range layer {
				if s.accepts(links[i].state) {
					return Answer{Text: spell(links, i), Found: true, Complete: true}
				}
			}
		}
		if s.query.Max >= 0 && length >= s.query.Max {
			break
		}
		var next []int
		inLayer := map[int]bool{}
		for _, i := range layer {
			for c, char := range s.alphabet {
				if s.steps++; s.steps > mostSteps || len(s.states) > mostStates {
					return Answer{}
				}
				to := s.step(links[i].state, c)
				if inLayer[to] || length+1 >= s.query.Min && seen[to] {
					continue
				}
				inLayer[to] = true
				seen[to] = seen[to] || length+1 >= s.query.Min
				links = append(links, link{to, i, char})
				next = append(next, len(links)-1)
			}
		}
		layer = next
	}
	return Answer{Complete: true}
}

// spell returns the string that leads to a link.
func spell(links []link, i int) string {
	var text []rune
	for ; links[i].before >= 0; i = links[i].before {
		text = append(text, links[i].char)
	}
	slices.Reverse(text)
	return string(text)
}

// intern returns the index of a state.
func (s *search) intern(of state) int {
	var key strings.Builder
	fmt.Fprint(&key, kindOf(of.before), of.done, of.threads)
	id, known := s.ids[key.String()]
	if !known {
		id = len(s.states)
		s.ids[key.String()] = id
		of.next = make([]int, len(s.alphabet))
		s.states = append(s.states, of)
	}
	return id
}

// kindOf returns the kind of a character, on which the assertions after it depend.
func kindOf(r rune) int {
	switch {
	case r < 0:
		return 0
	case r == '\n':
		return 1
	case syntax.IsWordChar(r):
		return 2
	}
	return 3
}

// step returns the state after a character of the alphabet.
func (s *search) step(from, char int) int {
	if known := s.states[from].next[char]; known > 0 {
		return known - 1
	}
	r := s.alphabet[char]
	after := state{before: r}
	for i, program := range s.programs {
		threads, done := s.closure(from, i, r)
		var next []uint32
		if !done {
			for _, pc := range threads {
				if instruction := &program.Inst[pc]; instruction.MatchRune(r) {
					next = append(next, instruction.Out)
				}
			}
			slices.Sort(next)
			next = slices.Compact(next)
		}
		after.threads, after.done = append(after.threads, next), append(after.done, done)
	}
	to := s.intern(after)
	s.states[from].next[char] = to + 1
	return to
}

// closure returns the instructions of a program that wait for a character if r comes next, and reports whether a match
// has ended. A negative r means the end of the string.
func (s *search) closure(from, program int, r rune) (waiting []uint32, done bool) {
	at := &s.states[from]
	if at.done[program] {
		return nil, true
	}
	p := s.programs[program]
	holds := syntax.EmptyOpContext(at.before, r)
	seen := map[uint32]bool{}
	// A match may start at any position.
	todo := append(slices.Clone(at.threads[program]), uint32(p.Start))
	for len(todo) > 0 {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch instruction := &p.Inst[pc]; instruction.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, instruction.Out, instruction.Arg)
		case syntax.InstCapture, syntax.InstNop:
			todo = append(todo, instruction.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(instruction.Arg)&^holds == 0 {
				todo = append(todo, instruction.Out)
			}
		case syntax.InstMatch:
			return nil, true
		case syntax.InstFail:
		default:
			waiting = append(waiting, pc)
		}
	}
	return waiting, false
}

// accepts reports whether a string may end in a state.
func (s *search) accepts(id int) bool {
	if known := s.states[id].accepted; known != 0 {
		return known > 0
	}
	accepted := 1
	for i := range s.programs {
		if _, done := s.closure(id, i, -1); done != (i < len(s.query.Match)) {
			accepted = -1
			break
		}
	}
	s.states[id].accepted = accepted
	return accepted > 0
}

// alphabet returns one character of each class that the programs distinguish, readable ones first.
func alphabet(programs []*syntax.Prog) []rune {
	bounds := []rune{0, '\n', '\n' + 1, '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1, 0xD800, 0xE000}
	for _, program := range programs {
		for i := range program.Inst {
			bounds = append(bounds, boundsOf(&program.Inst[i])...)
		}
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	var chosen []rune
	for i, low := range bounds {
		high := rune(unicode.MaxRune)
		if i+1 < len(bounds) {
			high = bounds[i+1] - 1
		}
		if low <= unicode.MaxRune && low != 0xD800 {
			chosen = append(chosen, readable(low, high))
		}
	}
	slices.SortStableFunc(chosen, func(a, b rune) int { return effort(a) - effort(b) })
	return chosen
}

// boundsOf returns the first characters of the classes that an instruction distinguishes.
func boundsOf(instruction *syntax.Inst) []rune {
	var bounds []rune
	runes := instruction.Rune
	switch instruction.Op {
	case syntax.InstRune1:
		runes = []rune{runes[0], runes[0]}
	case syntax.InstRune:
		if len(runes) == 1 {
			for fold := unicode.SimpleFold(runes[0]); fold != runes[0]; fold = unicode.SimpleFold(fold) {
				bounds = append(bounds, fold, fold+1)
			}
			runes = []rune{runes[0], runes[0]}
		}
	default:
		return nil
	}
	for i := 0; i+1 < len(runes); i += 2 {
		bounds = append(bounds, runes[i], runes[i+1]+1)
	}
	return bounds
}

// readable returns a readable character of a range, if it has one.
func readable(low, high rune) rune {
	for _, r := range "ax0A-" {
		if low <= r && r <= high {
			return r
		}
	}
	if printable := max(low, '!'); printable <= min(high, '~') {
		return printable
	}
	return low
}

// effort orders characters by readability.
func effort(r rune) int {
	switch {
	case 'a' <= r && r <= 'z':
		return 0
	case '0' <= r && r <= '9':
		return 1
	case 'A' <= r && r <= 'Z':
		return 2
	case '!' <= r && r <= '~':
		return 3
	case r == ' ':
		return 4
	}
	return 5
}
