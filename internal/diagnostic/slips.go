package diagnostic

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
