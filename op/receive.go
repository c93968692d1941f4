package op

// Receiver is what runs sequences batch by batch, seen from the end at which the
// runs come back.
type Receiver interface {
	// Receive waits for the oldest batch under way. The function it gives fills dst
	// with the next run of the batch, on the memory of dst; payloads in it are
	// valid until the next but one Receive. Runs that are not asked for are passed
	// over.
	Receive() (next func(dst *Run) error, err error)
}

// Collect brings a whole batch back: one run a sequence.
func Collect(from Receiver, dst []Run) error {
	next, err := from.Receive()
	for i := 0; err == nil && i < len(dst); i++ {
		err = next(&dst[i])
	}
	return err
}
