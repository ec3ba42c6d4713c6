package flink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// pollPause is the time between two looks at a statement that is not done.
const pollPause = 10 * time.Millisecond

// Session is a session of a gateway: its settings and its current catalog. Not safe
// for concurrent use; sessions of one gateway are independent.
type Session struct {
	g    *Gateway
	path string
}

// Failure is a statement that Flink refused or failed at.
type Failure struct {
	Statement string
	Chain     []string // the exception and its causes, outermost first
}

// Error gives the statement and the whole chain, one exception a line.
func (f *Failure) Error() string {
	return fmt.Sprintf("running %.2000s in Flink: %s", f.Statement, strings.Join(f.Chain, "\ncaused by: "))
}

// Open begins a session with Flink's settings, such as execution.runtime-mode. In it
// a statement that writes ends with its job.
func (g *Gateway) Open(ctx context.Context, settings map[string]string) (*Session, error) {
	properties := map[string]string{"table.dml-sync": "true", "table.local-time-zone": "UTC"}
	for k, v := range settings {
		properties[k] = v
	}
	var reply struct {
		Handle string `json:"sessionHandle"`
	}
	if err := g.call(ctx, http.MethodPost, "/v2/sessions", map[string]any{"properties": properties}, &reply); err != nil {
		return nil, fmt.Errorf("opening a session of Flink: %w", err)
	}
	return &Session{g: g, path: "/v2/sessions/" + reply.Handle}, nil
}

// Run carries out one statement and returns all its rows.
func (s *Session) Run(ctx context.Context, statement string) (*Result, error) {
	return s.take(ctx, statement, -1)
}

// Take returns the first n rows of a statement that need not end, and cancels it.
// It fails when the statement ends before.
func (s *Session) Take(ctx context.Context, statement string, n int) (*Result, error) {
	r, err := s.take(ctx, statement, n)
	if err == nil && len(r.Rows) < n {
		err = fmt.Errorf("running %.2000s in Flink: it ended after %d rows of %d", statement, len(r.Rows), n)
	}
	return r, err
}

func (s *Session) take(ctx context.Context, statement string, n int) (*Result, error) {
	ctx, cancel := context.WithTimeout(ctx, statementLimit)
	defer cancel()
	r, err := s.follow(ctx, statement, n)
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		return nil, &Failure{Statement: statement, Chain: refused.chain}
	case err != nil:
		return nil, fmt.Errorf("running %.2000s in Flink: %w", statement, err)
	}
	return r, nil
}

// page is a part of a result, in the gateway's words.
type page struct {
	Type    string `json:"resultType"` // NOT_READY, PAYLOAD, EOS
	Next    string `json:"nextResultUri"`
	Results struct {
		Columns []struct {
			Name string `json:"name"`
		} `json:"columns"`
		Data []Row `json:"data"`
	} `json:"results"`
}

func (s *Session) follow(ctx context.Context, statement string, n int) (*Result, error) {
	var operation struct {
		Handle string `json:"operationHandle"`
	}
	if err := s.g.call(ctx, http.MethodPost, s.path+"/statements", map[string]any{"statement": statement}, &operation); err != nil {
		return nil, err
	}
	path := s.path + "/operations/" + operation.Handle
	// Frees the result, and cancels the job that is not done.
	defer s.g.call(context.WithoutCancel(ctx), http.MethodDelete, path+"/close", nil, nil)
	out := &Result{}
	for next := path + "/result/0?rowFormat=JSON"; next != ""; {
		var p page
		if err := s.g.call(ctx, http.MethodGet, next, nil, &p); err != nil {
			return nil, err
		}
		if p.Results.Columns != nil {
			out.Columns = out.Columns[:0]
			for _, c := range p.Results.Columns {
				out.Columns = append(out.Columns, c.Name)
			}
		}
		out.Rows = append(out.Rows, p.Results.Data...)
		if n >= 0 && len(out.Rows) >= n {
			out.Rows = out.Rows[:n]
			return out, nil
		}
		if p.Type != "EOS" && len(p.Results.Data) == 0 {
			if err := pause(ctx); err != nil {
				return nil, err
			}
		}
		next = p.Next
	}
	return out, nil
}

func pause(ctx context.Context) error {
	t := time.NewTimer(pollPause)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refusal is an answer of the gateway that is an error.
type refusal struct{ chain []string }

func (r *refusal) Error() string { return strings.Join(r.chain, "\ncaused by: ") }

// call sends a request and decodes the answer into reply, unless that is nil.
func (g *Gateway) call(ctx context.Context, method, path string, request, reply any) error {
	var body io.Reader
	if request != nil {
		text, err := json.Marshal(request)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, g.url+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := g.client.Do(req)
	if err != nil {
		return g.alive(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return g.alive(err)
	}
	if answer.StatusCode != http.StatusOK {
		return &refusal{chain(answer.Status, text)}
	}
	if reply == nil {
		return nil
	}
	if err := json.Unmarshal(text, reply); err != nil {
		return fmt.Errorf("reading its answer: %w. answer=%.500q", err, text)
	}
	return nil
}

// chain picks the exceptions out of an answer's stack traces.
func chain(status string, text []byte) []string {
	var answer struct {
		Errors []string `json:"errors"`
	}
	if json.Unmarshal(text, &answer) != nil || len(answer.Errors) == 0 {
		return []string{fmt.Sprintf("%s: %.500s", status, text)}
	}
	var out []string
	for line := range strings.Lines(strings.Join(answer.Errors, "\n")) {
		line = strings.TrimSpace(line)
		cause, isCause := strings.CutPrefix(line, "Caused by: ")
		switch {
		case line == "" || strings.HasPrefix(line, "at ") || strings.HasPrefix(line, "... ") || strings.HasSuffix(line, "side:"):
		case !isCause && len(out) > 0 && !strings.Contains(line, "Exception:"):
			out[len(out)-1] += " " + line // a message of several lines
		default:
			out = append(out, cause)
		}
	}
	return out
}
