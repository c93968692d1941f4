package oracle

import "github.com/agext/levenshtein"

// Nearest gives the known word that is closest to a mistyped one, or nothing
// when none is close.
func Nearest(word string, known []string) string {
	best, score := "", 0.5
	for _, candidate := range known {
		if s := levenshtein.Similarity(word, candidate, nil); s > score {
			best, score = candidate, s
		}
	}
	return best
}
