package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/kctrl-dev/kctrl/bench/corpus"
)

// The scenarios in the order of measuring and printing.
const (
	everything      = "everything, kctrl's cache empty"
	nothing         = "nothing changed"
	oneType         = "one type edited"
	inOneCall       = "everything, kctrl in one call, its cache empty"
	emptyBuildCache = "everything, all caches empty"
)

// results are the medians of all measurements.
type results []result

// result has the medians of one scenario on one project.
type result struct {
	scenario, project string
	peer, kctrl       corpus.Usage
}

func (r *results) add(scenario, project string, peer, kctrl []corpus.Usage) {
	if len(peer) > 0 && len(kctrl) > 0 {
		*r = append(*r, result{scenario, project, median(peer), median(kctrl)})
	}
}

// median returns the median of each figure.
func median(usages []corpus.Usage) corpus.Usage {
	return corpus.Usage{
		Wall: middle(usages, func(u corpus.Usage) time.Duration { return u.Wall }),
		CPU:  middle(usages, func(u corpus.Usage) time.Duration { return u.CPU }),
		RSS:  middle(usages, func(u corpus.Usage) int64 { return u.RSS }),

		Longest: middle(usages, func(u corpus.Usage) time.Duration { return u.Longest }),
	}
}

func middle[T cmp.Ordered](usages []corpus.Usage, figure func(corpus.Usage) T) T {
	var all []T
	for _, u := range usages {
		all = append(all, figure(u))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// print prints a table for each scenario, and the sums.
func (r results) print(out io.Writer, kinds int) {
	large := fmt.Sprintf("%d kinds", kinds)
	small := fmt.Sprintf("%d kinds", fewKinds)
	var sums results
	for _, scenario := range []string{everything, nothing, oneType, inOneCall, emptyBuildCache} {
		sum := result{scenario: scenario}
		fmt.Fprintf(out, "%s\n\n", scenario)
		header(out, "project")
		for _, m := range r {
			if m.scenario != scenario {
				continue
			}
			m.row(out, m.project)
			if m.project != large && m.project != small {
				sum.peer, sum.kctrl = sum.peer.Add(m.peer), sum.kctrl.Add(m.kctrl)
			}
		}
		fmt.Fprintln(out)
		if sum.peer.Wall > 0 {
			sums = append(sums, sum)
		}
	}
	fmt.Fprint(out, "over the corpus: sums of medians; the peak memory is that of the largest process\n\n")
	header(out, "figure")
	for _, sum := range sums {
		sum.row(out, sum.scenario)
	}
	r.printCalls(out)
	r.printKinds(out, small, large, kinds)
}

// printCalls prints the duration of the longest call of a Makefile when all output is up to date.
func (r results) printCalls(out io.Writer) {
	fmt.Fprintf(out, "\n| %s: the longest call | controller-gen, ms | kctrl, ms |\n|---|---:|---:|\n", nothing)
	for _, m := range r {
		if m.scenario == nothing {
			fmt.Fprintf(out, "| %s | %d | %d |\n", m.project, m.peer.Longest.Milliseconds(), m.kctrl.Longest.Milliseconds())
		}
	}
}

// printKinds compares the cost per kind of a large project and a small one.
func (r results) printKinds(out io.Writer, small, large string, kinds int) {
	if kinds <= 0 {
		return
	}
	fmt.Fprintf(out, "\n| everything, per kind | %s, ms | %s, ms | ratio |\n|---|---:|---:|---:|\n", small, large)
	few, many := r.find(everything, small), r.find(everything, large)
	if few == nil || many == nil {
		return
	}
	row := func(name string, few, many time.Duration) {
		a, b := few.Seconds()*1000/fewKinds, many.Seconds()*1000/float64(kinds)
		fmt.Fprintf(out, "| %s | %.2f | %.2f | %.2f |\n", name, a, b, b/a)
	}
	row("controller-gen, wall", few.peer.Wall, many.peer.Wall)
	row("kctrl, wall", few.kctrl.Wall, many.kctrl.Wall)
	row("kctrl, CPU", few.kctrl.CPU, many.kctrl.CPU)
}

func (r results) find(scenario, project string) *result {
	i := slices.IndexFunc(r, func(m result) bool { return m.scenario == scenario && m.project == project })
	if i < 0 {
		return nil
	}
	return &r[i]
}

func header(out io.Writer, first string) {
	fmt.Fprintf(out, "| %s | controller-gen: wall, s | CPU, s | RSS, MiB | kctrl: wall, s | CPU, s | RSS, MiB | ratio: "+
		"wall | CPU | RSS |\n", first)
	fmt.Fprintln(out, "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
}

func (m result) row(out io.Writer, name string) {
	const mebi = 1 << 20
	fmt.Fprintf(out, "| %s | %.3f | %.3f | %d | %.3f | %.3f | %d | %.3f | %.3f | %.3f |\n", name,
		m.peer.Wall.Seconds(), m.peer.CPU.Seconds(), m.peer.RSS/mebi, m.kctrl.Wall.Seconds(), m.kctrl.CPU.Seconds(),
		m.kctrl.RSS/mebi,
		ratio(m.kctrl.Wall, m.peer.Wall), ratio(m.kctrl.CPU, m.peer.CPU), ratio(m.kctrl.RSS, m.peer.RSS))
}

func ratio[T ~int64](a, b T) float64 { return float64(a) / float64(b) }
