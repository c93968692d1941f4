package diff

import "github.com/diffstore/diffstore/op"

// Scaled opens a subject that is built with factor times the slots of every
// sequence it is given.
func Scaled(open Open, factor int) Open {
	if factor == 1 {
		return open
	}
	return func() (Subject, error) {
		subject, err := open()
		if err != nil {
			return nil, err
		}
		return &scaled{subject, factor}, nil
	}
}

type scaled struct {
	Subject
	factor int
}

func (s *scaled) Submit(batch []op.Sequence) error {
	larger := make([]op.Sequence, len(batch))
	for i := range batch {
		larger[i] = batch[i]
		larger[i].Slots *= s.factor
	}
	return s.Subject.Submit(larger)
}
