package traces

import (
	"bytes"
	"io"
	"testing"
)

// BenchmarkRead and BenchmarkWrite use the recorded runs with full wants.
func BenchmarkRead(b *testing.B) {
	text := content(b, upstream(b)[0])
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Read(bytes.NewReader(text), "bench.jsonl"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	path := upstream(b)[0]
	all, err := ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(content(b, path))))
	for b.Loop() {
		if err := Write(io.Discard, all...); err != nil {
			b.Fatal(err)
		}
	}
}
