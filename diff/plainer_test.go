package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlainerThan(t *testing.T) {
	for _, c := range []struct {
		fingerprint string
		also        []string
	}{
		{"put/victims/none|none", nil},
		{"construct/construct/argument|none", nil},
		{"put/outcome/key|none", nil},
		// The keys that the errors name differ: without errors nothing would.
		{"put/outcome/key|key/differs-after-error", []string{"put/outcome/key|key"}},
		{"get/outcome/missing|closed/differs-after-error", []string{"get/outcome/missing|closed"}},
		{"put/queue/none|none/differs-after-error", []string{"put/queue/none|none"}},
		{"put/queue/key|key/differs-after-error", []string{"put/queue/key|key", "put/queue/none|none/differs-after-error", "put/queue/none|none"}},
		{"put/outcome/size|capacity", []string{"put/outcome/none|capacity"}},
		{"put/outcome/key|size", []string{"put/outcome/key|none"}},
		{"put/outcome/capacity|key/intended", []string{"put/outcome/none|key/intended"}},
	} {
		want := append([]string{c.fingerprint}, c.also...)
		if d := cmp.Diff(want, plainerThan(c.fingerprint)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.fingerprint, d)
		}
	}
}
