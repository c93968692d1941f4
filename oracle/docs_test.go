package oracle

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/op"
)

// TestTheExampleOfTheProtocolPage runs the oracle that docs/oracle-protocol.md
// shows, as it stands there, against the model, on what it can do.
func TestTheExampleOfTheProtocolPage(t *testing.T) {
	interpreter := needPython(t)
	page, err := os.ReadFile("../docs/oracle-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("the page has no example")
	}
	launch := resolve(t, "exec:"+interpreter+" "+writeFile(t, "tiny.py", string(found[1])), Options{})
	var batch []op.Sequence
	for _, s := range generated("balanced", 100) {
		if s.Slots < 1 {
			continue
		}
		kept := op.Sequence{Slots: s.Slots, ObjectBytes: s.ObjectBytes}
		for _, o := range s.Ops {
			o.Retain, o.Release = nil, nil
			fits := o.Kind != op.Close && len(o.Objects) <= s.Slots
			for i := range o.Objects {
				fits = fits && len(o.Objects[i].Payload) == s.ObjectBytes
			}
			if fits {
				kept.Ops = append(kept.Ops, o)
			}
		}
		batch = append(batch, kept)
	}
	runs, o := show(t, launch, Ask{}, batch)
	victims := 0
	for i := range runs {
		for j := range runs[i].Steps {
			victims += len(runs[i].Steps[j].Victims)
		}
	}
	if victims == 0 || o.Identity().Wire != WireJSON {
		t.Errorf("%d victims, identity %+v", victims, o.Identity())
	}
	sameRuns(t, batch, modelled(t, "main", batch), runs, diff.Options{})

	// It answers one op a message, too.
	launch.OpTimeout = 30 * time.Second
	watched, err := Open(launch, Ask{})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Close()
	var run op.Run
	at, _, err := watched.watch(unplanned(batch[50:51]), &run)
	if err != nil || at != -1 || len(run.Steps) != len(batch[50].Ops) {
		t.Errorf("watched: %d steps for %d ops, stopped at %d, error %v", len(run.Steps), len(batch[50].Ops), at, err)
	}
}
