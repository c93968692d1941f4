package oracle

import "unsafe"

// view shows bytes of a message as a string without a copy. The message is not
// changed while its tree is in use.
func view(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}

// viewBytes is the inverse of view.
func viewBytes(s string) []byte {
	if s == "" {
		return []byte{}
	}
	return unsafe.Slice(unsafe.StringData(s), len(s))
}
