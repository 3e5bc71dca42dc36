package scaffold_test

import (
	"fmt"
	"slices"
)

// choice is the value of one property of a combination.
type choice struct {
	property int
	value    string
}

// pairs returns combinations that together contain each pair of choices that occurs in some combination.
func pairs() []combination {
	missing := map[[2]choice]bool{}
	for _, c := range combinations() {
		for _, pair := range c.pairs() {
			missing[pair] = true
		}
	}
	var chosen []combination
	for len(missing) > 0 {
		best := slices.MaxFunc(combinations(), func(a, b combination) int { return a.count(missing) - b.count(missing) })
		for _, pair := range best.pairs() {
			delete(missing, pair)
		}
		chosen = append(chosen, best)
	}
	return chosen
}

func (c combination) pairs() [][2]choice {
	var all [][2]choice
	values := []any{c.multiGroup, c.namespaced, c.webhooks, c.origin, c.runtime, c.apiModule}
	for i := range values {
		for j := range i {
			all = append(all, [2]choice{{j, fmt.Sprint(values[j])}, {i, fmt.Sprint(values[i])}})
		}
	}
	return all
}

func (c combination) count(missing map[[2]choice]bool) int {
	n := 0
	for _, pair := range c.pairs() {
		if missing[pair] {
			n++
		}
	}
	return n
}
