package diagnostic

import (
	"slices"
	"strings"
)

// Near returns the known word that is most similar to word, ignoring case. It reports false if every known word differs
// by more than likely typing errors.
func Near(word string, known []string) (near string, ok bool) {
	if len(known) == 0 {
		return "", false
	}
	near = slices.MinFunc(known, func(a, b string) int { return slips(word, a) - slips(word, b) })
	return near, MayMean(word, near)
}

// MayMean reports whether a may be a misspelling of b, ignoring case. It allows at most two typing errors, because
// other words may be similar as well.
func MayMean(a, b string) bool { return slips(a, b) <= min(2, LikelySlips(b)) }

// LikelySlips returns the likely number of typing errors in a word, which grows with its length.
func LikelySlips(word string) int { return 1 + len(word)/4 }

// IsSlip reports whether a and b differ by at most one typing error, ignoring case. Use it where a may also be a
// correct word of another tool.
func IsSlip(a, b string) bool { return slips(a, b) <= 1 }

func slips(a, b string) int { return Slips(strings.ToLower(a), strings.ToLower(b)) }

// Slips returns the edit distance of a and b: the number of letters to insert, delete, replace or swap with a neighbor.
// For strings of very different lengths it returns only the difference of the lengths.
func Slips(a, b string) int {
	if difference := max(len(a)-len(b), len(b)-len(a)); difference > maxSlips {
		return difference
	}
	before, above := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := above[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(above[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}

// maxSlips is the largest difference in length for which Slips computes the edit distance. No word has so many
// typing errors.
const maxSlips = 64
