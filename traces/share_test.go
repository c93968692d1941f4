package traces

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/diffstore/diffstore/op"
)

// TestEveryKindHasAShare fails while a kind of operation cannot be written or read.
func TestEveryKindHasAShare(t *testing.T) {
	names := map[string]bool{}
	for kind, info := range op.Table {
		share := shares[kind]
		if len(share) == 0 {
			t.Errorf("%s has no field in a line", info.Name)
			continue
		}
		if share[0].name != info.Name {
			t.Errorf("the first field of %s is %s", info.Name, share[0].name)
		}
		for _, f := range share {
			if f.name == "" || f.read == nil || f.has == nil || f.write == nil || names[f.name] {
				t.Errorf("field %q of %s is not whole or not its own", f.name, info.Name)
			}
			names[f.name] = true
		}
		var line bytes.Buffer
		w := NewWriter(&line, "trace")
		if err := w.Begin(Header{}); err != nil {
			t.Fatal(err)
		}
		if err := w.Op(&op.Op{Kind: op.Kind(kind)}, nil); err != nil {
			t.Fatal(err)
		}
		back, err := Read(&line, "trace")
		if err != nil || back[0].Ops[0].Kind != op.Kind(kind) {
			t.Errorf("an empty %s came back as %+v, %v", info.Name, back, err)
		}
	}
}

// TestEveryArgumentHasAField fails when an argument is added to Op and no kind
// writes it.
func TestEveryArgumentHasAField(t *testing.T) {
	arguments := reflect.TypeFor[op.Op]()
	for i := range arguments.NumField() {
		argument := arguments.Field(i)
		if argument.Name == "Kind" {
			continue
		}
		var o op.Op
		value := reflect.ValueOf(&o).Elem().Field(i)
		value.Set(reflect.MakeSlice(argument.Type, 1, 1))
		written := 0
		for _, share := range shares {
			for _, f := range share {
				if f.has(&o) {
					written++
				}
			}
		}
		if written != 1 {
			t.Errorf("%s is written by %d fields, want one", argument.Name, written)
		}
	}
}
