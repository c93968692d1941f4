package traces

import "github.com/diffstore/diffstore/op"

// shares holds the fields that each kind of operation has in a line. A line of
// a kind holds at least one of its fields: the first when the op names nothing.
var shares = [op.NumKinds][]field[op.Op]{
	op.Put: {
		{
			name: "put",
			read: readObjects,
			has:  func(o *op.Op) bool { return len(o.Objects) > 0 },
			write: func(b []byte, o *op.Op) []byte {
				return appendList(b, o.Objects, func(b []byte, object op.Object) []byte {
					b = append(appendString(append(b, '['), object.Key), ',')
					return append(appendPayload(b, object.Payload), ']')
				})
			},
		},
		keysField("retain", func(o *op.Op) *[]string { return &o.Retain }),
		keysField("release", func(o *op.Op) *[]string { return &o.Release }),
	},
	op.Get: {
		keysField("get", func(o *op.Op) *[]string { return &o.Keys }),
	},
	op.Close: {
		{
			name:  "close",
			read:  func(p *parser, _ *op.Op) error { return p.affirm() },
			has:   func(*op.Op) bool { return false },
			write: func(b []byte, _ *op.Op) []byte { return append(b, "true"...) },
		},
	},
}

// readObjects reads the objects of a put: a list of [key, payload].
func readObjects(p *parser, o *op.Op) error {
	return p.array("a list of [key, payload]", func() error {
		var object op.Object
		n := 0
		err := p.array("[key, payload]", func() (err error) {
			switch n++; n {
			case 1:
				object.Key, err = p.text("a key in quotes")
			case 2:
				object.Payload, err = p.payload()
			default:
				p.peek()
				err = p.fail("write [key, payload]", "an object has two parts, found a third")
			}
			return err
		})
		if err == nil && n < 2 {
			err = p.fail("write [key, payload]", "an object has two parts, found %d", n)
		}
		o.Objects = append(o.Objects, object)
		return err
	})
}

// appendOp opens the line of an op and writes all but the closing brace.
func appendOp(b []byte, o *op.Op) []byte {
	b = append(b, '{')
	start := len(b)
	table := shares[o.Kind]
	for i := range table {
		if table[i].has(o) {
			b = appendField(b, &table[i], o)
		}
	}
	if len(b) == start {
		b = appendField(b, &table[0], o)
	}
	return b
}

// foreignField names a field that the op fills and its kind does not have, or "".
func foreignField(o *op.Op) string {
	for kind := range shares {
		for i := range shares[kind] {
			if op.Kind(kind) != o.Kind && shares[kind][i].has(o) {
				return shares[kind][i].name
			}
		}
	}
	return ""
}
