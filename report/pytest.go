package report

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/traces"
)

// DefaultImport is the module that a pytest file imports the store from.
const DefaultImport = "vllm.distributed.aux_output_connector.store"

// Pytest writes a test file that replays a trace through the store's public
// interface alone and asserts what the trace's model does: every outcome, then
// which keys are stored with which bytes, how often each is referenced, and in
// which order keys leave. It passes on a store that behaves like the model.
//
// Slots and the free stack cannot be seen from outside, so a divergence in them
// alone does not fail it.
func Pytest(t *traces.Trace, module string) (string, error) {
	variant := t.Model
	if variant == "" {
		variant = "main"
	}
	sequence := t.Sequence()
	store, err := model.New(variant, 1, 1)
	if err != nil {
		return "", err
	}
	defer store.Release()
	p := &pytest{sequence: sequence}
	p.head(t, module)
	if refused := store.Reset(sequence.Slots, sequence.ObjectBytes); refused != nil {
		var argument *model.ArgumentError
		if !errors.As(refused, &argument) {
			return "", refused
		}
		p.linef("def test_constructor():")
		p.linef("    with pytest.raises(ValueError, match=%s):", pyText(argument.Message))
		p.linef("        %s", p.construct())
		return p.String(), nil
	}
	p.replay(store)
	p.checks(store)
	return p.String(), nil
}

// pytest is a Python file in the making.
type pytest struct {
	strings.Builder
	sequence op.Sequence
	last     op.Observation
	closed   bool
}

func (p *pytest) linef(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *pytest) head(t *traces.Trace, module string) {
	p.linef(`"""A sequence of calls on the block-object store, and what it must do."""`)
	p.linef("")
	if t.Note != "" {
		p.linef("# %s", Escape(t.Note))
	}
	p.linef("import pytest")
	p.linef("")
	p.linef("from %s import BlockObject, BlockObjectStore", module)
	p.linef("")
	p.linef("")
}

func (p *pytest) construct() string {
	return fmt.Sprintf("BlockObjectStore(max_bytes=%d, object_nbytes=%d)", p.sequence.Slots*p.sequence.ObjectBytes, p.sequence.ObjectBytes)
}

// pyText is a Python literal of a text: Go's ASCII escapes are Python's, too.
func pyText(text string) string { return strconv.QuoteToASCII(text) }

func pyTexts(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = pyText(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func pyBytes(b []byte) string {
	for _, c := range b {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return `bytes.fromhex("` + hex.EncodeToString(b) + `")`
		}
	}
	return `b"` + string(b) + `"`
}

// calls is this room's share of the table of operations: the Python of a call.
var calls = [op.NumKinds]func(o *op.Op) string{
	op.Put: func(o *op.Op) string {
		objects := make([]string, len(o.Objects))
		for i, object := range o.Objects {
			objects[i] = fmt.Sprintf("BlockObject(%s, %s)", pyText(object.Key), pyBytes(object.Payload))
		}
		call := "store.put([" + strings.Join(objects, ", ") + "]"
		if len(o.Retain) > 0 {
			call += ", retain_keys=" + pyTexts(o.Retain)
		}
		if len(o.Release) > 0 {
			call += ", release_keys=" + pyTexts(o.Release)
		}
		return call + ")"
	},
	op.Get:   func(o *op.Op) string { return "store.get_concatenated(" + pyTexts(o.Keys) + ")" },
	op.Close: func(*op.Op) string { return "store.close()" },
}

// replay writes the function that does the ops and asserts their outcomes.
func (p *pytest) replay(store *model.Store) {
	p.linef("def replay():")
	p.linef("    store = %s", p.construct())
	for i := range p.sequence.Ops {
		o := &p.sequence.Ops[i]
		store.Do(o, &p.last)
		p.closed = p.closed || o.Kind == op.Close
		call := calls[o.Kind](o)
		switch failure := p.last.Outcome.Err; {
		case failure == nil && p.last.Outcome.Payload != nil:
			p.linef("    assert %s == %s", call, pyBytes(p.last.Outcome.Payload))
		case failure == nil:
			p.linef("    %s", call)
		default:
			p.raises(call, failure)
		}
	}
	store.Observe(&p.last.State)
	p.linef("    return store")
	p.linef("")
	p.linef("")
}

func (p *pytest) raises(call string, failure *op.Error) {
	switch failure.Kind {
	case op.KeyError:
		p.linef("    with pytest.raises(KeyError) as error:")
		p.linef("        %s", call)
		p.linef("    assert error.value.args == (%s,)", pyText(failure.Key))
		return
	case op.CapacityError:
		p.linef("    with pytest.raises(RuntimeError, match=%s):", pyText(fmt.Sprintf("limit=%d objects", failure.Limit)))
	case op.MissingError:
		p.linef("    with pytest.raises(RuntimeError, match=%s):", pyText(fmt.Sprintf("used=%d, limit=%d objects", failure.Used, failure.Limit)))
	case op.ClosedError:
		p.linef("    with pytest.raises(RuntimeError, match=%s):", pyText("closed"))
	default:
		p.linef("    with pytest.raises(%s):", failure.Type)
	}
	p.linef("        %s", call)
}

// keys lists the keys the sequence names, in order of first use.
func (p *pytest) keys() []string {
	var keys []string
	seen := map[string]bool{}
	for i := range p.sequence.Ops {
		p.sequence.Ops[i].EachKey(func(key string) {
			if !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		})
	}
	return keys
}

// checks writes the tests of the state behind the last op.
func (p *pytest) checks(store *model.Store) {
	if p.closed {
		p.linef("def test_outcomes():")
		p.linef("    replay()")
		return
	}
	keys := p.keys()
	state := &p.last.State
	if len(p.sequence.Ops) == 0 {
		store.Observe(state)
	}
	var stored []string
	for _, key := range keys {
		if store.Stored(key) {
			stored = append(stored, key)
		}
	}
	p.linef("def stored(store, keys):")
	p.linef("    found = []")
	p.linef("    for key in keys:")
	p.linef("        try:")
	p.linef("            store.get_concatenated([key])")
	p.linef("            found.append(key)")
	p.linef("        except RuntimeError:")
	p.linef("            pass")
	p.linef("    return found")
	p.linef("")
	p.linef("")
	p.linef("def test_stored_keys():")
	p.linef("    assert stored(replay(), %s) == %s", pyTexts(keys), pyTexts(stored))
	p.payloads(store, stored)
	p.references(keys, store)
	p.order(keys, state, store.Slots())
}

func (p *pytest) payloads(store *model.Store, stored []string) {
	if len(stored) == 0 {
		return
	}
	p.linef("")
	p.linef("")
	p.linef("def test_payloads():")
	p.linef("    store = replay()")
	for _, key := range stored {
		if payload, err := store.Get([]string{key}, nil); err == nil {
			p.linef("    assert store.get_concatenated([%s]) == %s", pyText(key), pyBytes(payload))
		}
	}
}

func (p *pytest) references(keys []string, store *model.Store) {
	var counts []string
	for _, key := range keys {
		counts = append(counts, fmt.Sprintf("%s: %d", pyText(key), store.References(key)))
	}
	if len(counts) == 0 {
		return
	}
	p.linef("")
	p.linef("")
	p.linef("def test_reference_counts():")
	p.linef("    store = replay()")
	p.linef("    for key, count in {%s}.items():", strings.Join(counts, ", "))
	p.linef("        for _ in range(count):")
	p.linef("            store.put([], release_keys=[key])")
	p.linef("        with pytest.raises(KeyError):")
	p.linef("            store.put([], release_keys=[key])")
}

// freshPrefix is a beginning that no key of the sequence has.
func freshPrefix(keys []string) string {
	prefix := "fresh-"
	for slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, prefix) }) {
		prefix = "very-" + prefix
	}
	return prefix
}

// order asks which keys leave as new ones come; slots are those of the store as
// it is by now, which may have grown.
func (p *pytest) order(keys []string, state *op.State, slots int) {
	if len(state.Queue) == 0 {
		return
	}
	p.linef("")
	p.linef("")
	p.linef("def test_eviction_order():")
	p.linef("    # One new key more in each fresh store pushes one key more out.")
	p.linef("    left, gone = %s, []", pyTexts(state.Queue))
	p.linef("    for count in range(1, %d):", slots+1)
	p.linef("        store = replay()")
	p.linef("        try:")
	p.linef(`            store.put([BlockObject(f"%s{i}", b"x" * %d) for i in range(count)])`, freshPrefix(keys), p.sequence.ObjectBytes)
	p.linef("        except IndexError:")
	p.linef("            pass  # a slot was lost before; the keys are stored all the same")
	p.linef("        still = stored(store, left)")
	p.linef("        gone += [key for key in left if key not in still]")
	p.linef("        left = still")
	p.linef("        if not left:")
	p.linef("            break")
	p.linef("    assert gone == %s", pyTexts(state.Queue))
}
