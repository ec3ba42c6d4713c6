//go:build cgo && !tarn_nosql

package cli

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestSQLScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/sql",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("TARN_WAREHOUSE", e.WorkDir+"/lake")
			e.Setenv("GORACE", os.Getenv("GORACE"))
			return os.Mkdir(e.WorkDir+"/lake", 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exit": exitCode},
	})
}
