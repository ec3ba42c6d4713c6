package cli

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// TestCompletion: the script of each shell is one that the shell takes, where it is
// installed, and what the scripts ask for is answered.
func TestCompletion(t *testing.T) {
	run := func(args ...string) string {
		t.Helper()
		var out, errOut bytes.Buffer
		if code := Main(args, strings.NewReader(""), &out, &errOut); code != 0 {
			t.Fatalf("%q: exit code %d: %s", args, code, errOut.String())
		}
		return out.String()
	}
	for _, c := range []struct {
		shell string
		check []string // reads a script and runs none of it
		has   string
	}{
		{"bash", []string{"bash", "-n"}, "complete -o default -F __start_tarn tarn"},
		{"zsh", []string{"zsh", "-n"}, "#compdef tarn"},
		{"fish", []string{"fish", "--no-execute"}, "complete -c tarn"},
		{"powershell", nil, "Register-ArgumentCompleter -CommandName 'tarn'"},
	} {
		t.Run(c.shell, func(t *testing.T) {
			script := run("completion", c.shell)
			if !strings.Contains(script, c.has) {
				t.Errorf("%q is not in the script", c.has)
			}
			if c.check == nil {
				return
			}
			if _, err := exec.LookPath(c.check[0]); err != nil {
				t.Logf("not installed: %v", err)
				return
			}
			check := exec.CommandContext(t.Context(), c.check[0], c.check[1:]...)
			check.Stdin = strings.NewReader(script)
			if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s: %v: %s", c.shell, err, out)
			}
		})
	}
	for ask, want := range map[string]string{
		"ta":           "table",
		"table im":     "import",
		"completion b": "bash",
	} {
		got := run(append([]string{"__complete"}, strings.Split(ask, " ")...)...)
		if name, _, _ := strings.Cut(got, "\t"); name != want {
			t.Errorf("%q is completed by %q, want %s", ask, got, want)
		}
	}
	got := run("__complete", "table", "import", "--com")
	for _, flag := range []string{"--commit-every", "--commit-user", "--commit-id"} {
		if !strings.Contains(got, flag) {
			t.Errorf("%s is not offered: %s", flag, got)
		}
	}
}
