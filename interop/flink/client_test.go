package flink

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/types"
)

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

// answers is a gateway that gives prepared answers, and remembers what it was asked.
type answers struct {
	mu    sync.Mutex
	asked []string
	by    map[string][]string // of each request one after another; the last one stays
	then  func(asked int)     // called with each request, unless nil
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	request := r.Method + " " + r.URL.Path
	a.asked = append(a.asked, request)
	if a.then != nil {
		a.then(len(a.asked))
	}
	all := a.by[request]
	if len(all) == 0 {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, `{"errors":["no answer to %s"]}`, request)
		return
	}
	if len(all) > 1 {
		a.by[request] = all[1:]
	}
	if strings.HasPrefix(all[0], `{"errors"`) {
		w.WriteHeader(http.StatusInternalServerError)
	}
	fmt.Fprint(w, all[0])
}

func session(t *testing.T, by map[string][]string) (*Session, *answers) {
	t.Helper()
	a := &answers{by: map[string][]string{
		"POST /v2/sessions":                        {`{"sessionHandle":"S"}`},
		"POST /v2/sessions/S/statements":           {`{"operationHandle":"O"}`},
		"DELETE /v2/sessions/S/operations/O/close": {`{"status":"CLOSED"}`},
	}}
	for k, v := range by {
		a.by[k] = v
	}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	g := &Gateway{url: server.URL, done: make(chan struct{})}
	s, err := g.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, a
}

const (
	result   = "GET /v2/sessions/S/operations/O/result/"
	notReady = `{"resultType":"NOT_READY","nextResultUri":"/v2/sessions/S/operations/O/result/0?rowFormat=JSON"}`
	twoRows  = `{"resultType":"PAYLOAD","nextResultUri":"/v2/sessions/S/operations/O/result/1?rowFormat=JSON",
		"results":{"columns":[{"name":"a"},{"name":"b"}],"data":[{"kind":"INSERT","fields":[1,"x"]},{"kind":"DELETE","fields":[2,null]}]}}`
	noMore = `{"resultType":"EOS","results":{"columns":[{"name":"a"},{"name":"b"}],"data":[]}}`
)

func TestRowsOfPages(t *testing.T) {
	s, a := session(t, map[string][]string{result + "0": {notReady, notReady, twoRows}, result + "1": {noMore}})
	r, err := s.Run(t.Context(), "SELECT")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{`1,"x"`, `2,null`}, r.Texts()); d != "" || r.Rows[1].Kind != "DELETE" {
		t.Error(d, r)
	}
	lines, err := r.Lines([]types.Field{{Name: "a", Type: types.Type{Root: types.Int}}, {Name: "b", Type: types.Type{Root: types.VarChar, Length: 9, Nullable: true}}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{`{"a":1,"b":"x"}`, `{"a":2,"b":null}`}, lines); d != "" {
		t.Error(d)
	}
	if last := a.asked[len(a.asked)-1]; last != "DELETE /v2/sessions/S/operations/O/close" {
		t.Errorf("the operation is not closed: %s", last)
	}
	if _, err := r.Lines(nil); err == nil {
		t.Error("rows of other columns are taken")
	}
}

func TestFirstRows(t *testing.T) {
	s, a := session(t, map[string][]string{result + "0": {twoRows}, result + "1": {noMore}})
	r, err := s.Take(t.Context(), "SELECT", 1)
	if err != nil || len(r.Rows) != 1 {
		t.Fatal(r, err)
	}
	if last := a.asked[len(a.asked)-1]; last != "DELETE /v2/sessions/S/operations/O/close" {
		t.Errorf("the job goes on: %s", last)
	}
	if _, err := s.Take(t.Context(), "SELECT", 3); err == nil || !strings.Contains(err.Error(), "ended after 2 rows of 3") {
		t.Errorf("too few rows: %v", err)
	}
}

func TestFailuresSayWhy(t *testing.T) {
	s, _ := session(t, map[string][]string{result + "0": {
		`{"errors":["Internal server error.","<Exception on server side:\norg.apache.Outer: failed\n\tat x.y(Z.java:1)\nCaused by: org.apache.Inner: no table t\n in it\n\tat x.y(Z.java:1)\n\t... 3 more\n"]}`}})
	_, err := s.Run(t.Context(), "SELECT 1")
	var f *Failure
	if !errors.As(err, &f) {
		t.Fatal(err)
	}
	if last := f.Chain[len(f.Chain)-1]; last != "org.apache.Inner: no table t in it" || f.Statement != "SELECT 1" {
		t.Errorf("%q", f.Chain)
	}
}

// A statement that does not end is given up with its context, and cancelled.
func TestEndlessStatements(t *testing.T) {
	s, a := session(t, map[string][]string{result + "0": {notReady}})
	ctx, cancel := context.WithCancel(t.Context())
	a.then = func(asked int) {
		if asked == 5 { // some looks at the result, all in vain
			cancel()
		}
	}
	if _, err := s.Run(ctx, "SELECT"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if last := a.asked[len(a.asked)-1]; last != "DELETE /v2/sessions/S/operations/O/close" {
		t.Errorf("the job goes on: %s", last)
	}
}

// A gateway whose process is gone is told from one that does not answer.
func TestDeadGateway(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(folder+"/log", []byte("out of memory"), 0o644); err != nil {
		t.Fatal(err)
	}
	g := &Gateway{url: "http://127.0.0.1:1", folder: folder, done: make(chan struct{}), exit: errors.New("exit status 3")}
	close(g.done)
	if _, err := g.Open(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "out of memory") {
		t.Error(err)
	}
}

// A process that ends before it answers, and one that does not start, are errors.
func TestGatewayDoesNotStart(t *testing.T) {
	for java, want := range map[string]string{"false": "exit status 1", "/no/such/java": "no such file"} {
		if _, err := launch(t.Context(), java, "classpath", t.TempDir()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", java, err)
		}
	}
}

func TestFlinksSpelling(t *testing.T) {
	text := types.Type{Root: types.VarChar, Length: types.MaxLength}
	bytes := types.Type{Root: types.VarBinary, Length: types.MaxLength, Nullable: true}
	number := types.Type{Root: types.Int, Nullable: true}
	for _, c := range []struct {
		t       types.Type
		in, out string
	}{
		{t: bytes, in: `"AP+A"`, out: `"hex:00ff80"`},
		{t: bytes, in: `null`, out: `null`},
		{t: types.Type{Root: types.Array, Element: &bytes}, in: `["AA==",null]`, out: `["hex:00",null]`},
		{t: types.Type{Root: types.Map, Key: &text, Element: &bytes}, in: `{"x":"AQ=="}`, out: `[["x","hex:01"]]`},
		{t: types.Type{Root: types.Multiset, Element: &text}, in: `{"x":3}`, out: `[["x",3]]`},
		{t: types.Type{Root: types.Row, Fields: []types.Field{{Name: "f", Type: bytes}, {Name: "g", Type: number}}},
			in: `{"f":"Ag==","g":5}`, out: `{"f":"hex:02","g":5}`},
		{t: number, in: `7`, out: `7`},
	} {
		got, err := respell(c.t, []byte(c.in))
		if err != nil || string(got) != c.out {
			t.Errorf("%v %s: %s, %v, want %s", c.t, c.in, got, err, c.out)
		}
	}
}
