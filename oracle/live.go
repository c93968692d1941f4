package oracle

import "sync"

// live holds every process that was started and has not ended.
var live sync.Map

// EndAll ends every process that this package has started, at once. It is for a
// program that is told to go while a store hangs; no oracle is of use afterwards.
func EndAll() {
	live.Range(func(p, _ any) bool {
		p.(*process).kill()
		return true
	})
}
