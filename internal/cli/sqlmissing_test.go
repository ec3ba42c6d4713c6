//go:build !cgo || tarn_nosql

package cli

import (
	"strings"
	"testing"
)

// TestSQLIsMissing: a build without cgo says so, and what to do.
func TestSQLIsMissing(t *testing.T) {
	var out, errOut strings.Builder
	code := Main([]string{"sql", "-w", t.TempDir(), "-c", "SELECT 1"}, strings.NewReader(""), &out, &errOut)
	if code != 8 || !strings.Contains(errOut.String(), "SQL in a build without cgo") || !strings.Contains(errOut.String(), "CGO_ENABLED=1") {
		t.Errorf("exit code %d, said %q", code, errOut.String())
	}
}
