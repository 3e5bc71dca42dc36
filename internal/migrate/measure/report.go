package measure

import (
	"fmt"
	"io"
	"time"
)

// Print writes the costs on both runtimes as a Markdown table.
func (r *Report) Print(out io.Writer) error {
	_, err := fmt.Fprintf(out, "%d objects, kinds: %d; from the start of the process until it is at rest:\n\n"+
		"| | controller-runtime | kctrl | ratio |\n|---|---:|---:|---:|\n", r.Objects, r.Kinds)
	if err != nil {
		return err
	}
	a, b := r.Original, r.Kctrl
	for _, row := range []struct {
		name   string
		format func(float64) string
		a, b   float64
	}{
		{"time", seconds, float64(a.Start), float64(b.Start)},
		{"CPU", seconds, float64(a.CPU), float64(b.CPU)},
		{"largest memory (RSS)", megabytes, float64(a.PeakMemory), float64(b.PeakMemory)},
		{"memory at rest (RSS)", megabytes, float64(a.Memory), float64(b.Memory)},
		{"API requests", count, float64(a.Requests), float64(b.Requests)},
		{"binary, stripped", megabytes, float64(a.Binary), float64(b.Binary)},
	} {
		ratio := "-"
		if row.a > 0 {
			ratio = fmt.Sprintf("%.2f", row.b/row.a)
		}
		_, err := fmt.Fprintf(out, "| %s | %s | %s | %s |\n", row.name, row.format(row.a), row.format(row.b), ratio)
		if err != nil {
			return err
		}
	}
	return nil
}

func seconds(nanoseconds float64) string {
	return fmt.Sprintf("%.2f s", nanoseconds/float64(time.Second))
}

func megabytes(bytes float64) string { return fmt.Sprintf("%.1f MB", bytes/1e6) }

func count(n float64) string { return fmt.Sprintf("%.0f", n) }
