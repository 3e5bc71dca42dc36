package diagnostic

import (
	"slices"
	"strings"
)

// Near returns the known word that who wrote another most likely meant: the one with the fewest slips, in whatever case. It
// reports false if all differ by more than is likely.
func Near(word string, known []string) (near string, ok bool) {
	if len(known) == 0 {
		return "", false
	}
	near = slices.MinFunc(known, func(a, b string) int { return slips(word, a) - slips(word, b) })
	return near, MayMean(word, near)
}

// MayMean reports whether who wrote a may have meant b, in whatever case: a word that others are like, too.
func MayMean(a, b string) bool { return slips(a, b) <= min(2, LikelySlips(b)) }

// LikelySlips returns how many slips are likely in a word that stands for itself: more in a longer one.
func LikelySlips(word string) int { return 1 + len(word)/4 }

// IsSlip reports whether a and b differ by one slip of the keyboard at most, in whatever case: enough where a may as well
// be somebody else's word.
func IsSlip(a, b string) bool { return slips(a, b) <= 1 }

func slips(a, b string) int { return Slips(strings.ToLower(a), strings.ToLower(b)) }

// Slips returns how many letters have to be inserted, deleted, replaced or swapped with their neighbour to make b of a: how
// likely it is that who wrote a meant b. Of texts whose lengths are far apart it returns no more than that difference.
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

// maxSlips is more than anybody makes in one word.
const maxSlips = 64
