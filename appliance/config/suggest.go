package config

import "fmt"

// orNearest is the cure for a name that is not among the known ones: the likeliest of them, or
// what else to do.
func orNearest(name string, known []string, otherwise string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return otherwise
}

// nearest returns the known name that was most likely meant, or "": at most a third of
// its letters differ, a swap of neighbours counting as one.
func nearest(name string, known []string) string {
	const longest = 64 // keeps the table small, whatever a file holds
	best, bestDistance := "", 0
	for _, k := range known {
		if k == "" || len(name) > longest || len(k) > longest {
			continue
		}
		dist := distance(name, k)
		if dist <= max(1, (len(k)+1)/3) && dist < len(k) && (best == "" || dist < bestDistance) {
			best, bestDistance = k, dist
		}
	}
	return best
}

// distance counts inserted, deleted, changed and swapped bytes (optimal string alignment).
func distance(a, b string) int {
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
