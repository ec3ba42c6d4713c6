package interop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// The test binary is its own counterpart: with this variable set it answers
// requests in the way named instead of running tests.
const behaviour = "INTEROP_TEST_PEER"

func TestMain(m *testing.M) {
	if how := os.Getenv(behaviour); how != "" {
		os.Exit(counterpart(how))
	}
	os.Exit(run(m))
}

func counterpart(how string) int {
	in := bufio.NewScanner(os.Stdin)
	for n := 0; in.Scan(); n++ {
		switch {
		case n == 0 && how != "mute":
			fmt.Println(`{"ok":true}`) // cmd version
		case how == "refuse":
			fmt.Println(`{"ok":false,"chain":["E1: outer","E2: inner"]}`)
		case how == "read":
			fmt.Println(`{"ok":true,"rows":2,"lines":["{\"a\":1}","{\"a\":2}"],"columns":["a"],"types":["INT"]}`)
		case how == "echo":
			fmt.Printf("{\"ok\":false,\"chain\":[%q]}\n", in.Text())
		case how == "crash":
			fmt.Fprintln(os.Stderr, strings.Repeat("x", 20<<10)+"out of memory")
			return 3
		case how == "garble":
			fmt.Println("not JSON")
		case how == "mute": // never answers
		}
	}
	return 0
}

func startTestPeer(t *testing.T, how string) *peer {
	t.Helper()
	p, err := start(t.Context(), "peer", testCommand(t, how))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func testCommand(t *testing.T, how string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), behaviour+"="+how)
	return cmd
}

func TestReadDecodesTheReply(t *testing.T) {
	rows, err := startTestPeer(t, "read").read(t.Context(), Query{})
	if err != nil {
		t.Fatal(err)
	}
	if rows.Count != 2 || len(rows.Lines) != 2 || rows.Lines[1] != `{"a":2}` || rows.Types[0] != "INT" {
		t.Errorf("got %+v", rows)
	}
}

func TestRequestsAreOneLineOfJSON(t *testing.T) {
	p := startTestPeer(t, "echo")
	_, err := p.read(t.Context(), Query{Warehouse: "/w", Table: "db.t", Filter: "s = \"a\nb\"", Splits: [][]byte{{0xff}}})
	want := `{"cmd":"read","warehouse":"/w","table":"db.t","filter":"s = \"a\nb\"","splits":["/w=="]}`
	var failure *Failure
	if !errors.As(err, &failure) || failure.Chain[0] != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	err = p.scenario(t.Context(), "/w", map[string]any{"ops": []any{}})
	want = `{"cmd":"scenario","warehouse":"/w","scenario":{"ops":[]}}`
	if !errors.As(err, &failure) || failure.Chain[0] != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestConcurrentRequestsGetTheirOwnReplies(t *testing.T) {
	p := startTestPeer(t, "echo")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			table := fmt.Sprintf("db.t%d", i)
			_, err := p.read(t.Context(), Query{Table: table})
			if err == nil || !strings.Contains(err.Error(), table) {
				t.Errorf("asked for %s, got %v", table, err)
			}
		})
	}
	group.Wait()
}

func TestFailureCarriesTheChainAndThePeerLivesOn(t *testing.T) {
	p := startTestPeer(t, "refuse")
	for range 2 {
		_, err := p.check(t.Context(), "/w", "db.t")
		var failure *Failure
		if !errors.As(err, &failure) || len(failure.Chain) != 2 || failure.Cmd != "check" {
			t.Fatalf("got %v", err)
		}
		if got, want := err.Error(), "asking peer to check: E1: outer\ncaused by: E2: inner"; got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestACrashIsToldWithTheEndOfStderr(t *testing.T) {
	p := startTestPeer(t, "crash")
	_, err := p.read(t.Context(), Query{})
	if err == nil || !strings.Contains(err.Error(), "out of memory") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v", err)
	}
	if len(err.Error()) > 17<<10 {
		t.Errorf("error of %d bytes: stderr is not cut", len(err.Error()))
	}
	if _, again := p.read(t.Context(), Query{}); again == nil || again.Error() != err.Error() {
		t.Errorf("the second request should tell the same, got %v", again)
	}
}

func TestGarbledReply(t *testing.T) {
	_, err := startTestPeer(t, "garble").read(t.Context(), Query{})
	if err == nil || !strings.Contains(err.Error(), `"not JSON\n"`) {
		t.Errorf("got %v", err)
	}
}

func TestStartGivesUpWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := start(ctx, "peer", testCommand(t, "mute")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestStartOfAMissingProgram(t *testing.T) {
	_, err := start(t.Context(), "peer", exec.CommandContext(t.Context(), "/no/such/program"))
	if err == nil || !strings.Contains(err.Error(), "starting peer: ") {
		t.Errorf("got %v", err)
	}
}

func TestCloseEndsTheProcess(t *testing.T) {
	p := startTestPeer(t, "read")
	p.Close()
	if p.process.ProcessState == nil {
		t.Error("the process was not waited for")
	}
	if _, err := p.read(t.Context(), Query{}); err == nil || !strings.Contains(err.Error(), "it is closed") {
		t.Errorf("got %v", err)
	}
	p.Close() // again is harmless
}
