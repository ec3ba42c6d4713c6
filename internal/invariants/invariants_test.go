package invariants

import (
	"fmt"
	"testing"
)

func TestCheck(t *testing.T) {
	got := func() (r any) {
		defer func() { r = recover() }()
		Check(true, "INV-X-1", "never shown")
		Check(false, "INV-X-1", "level %d overlaps", 3)
		return nil
	}()
	want := "<nil>"
	if Enabled {
		want = "INV-X-1 broken: level 3 overlaps"
	}
	if fmt.Sprint(got) != want {
		t.Errorf("Check gave %v, want %v", got, want)
	}
}
