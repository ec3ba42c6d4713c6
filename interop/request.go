package interop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// Query says what to read. Zero fields restrict nothing.
type Query struct {
	Warehouse string            `json:"warehouse"`           // a directory
	Table     string            `json:"table"`               // db.t
	Branch    string            `json:"branch,omitempty"`    // "" = main
	System    string            `json:"sys,omitempty"`       // system table: snapshots, files, …
	Filter    string            `json:"filter,omitempty"`    // col OP json [AND …]
	Project   []string          `json:"project,omitempty"`   // columns, in this order
	Snapshot  int64             `json:"snapshot,omitempty"`  // time travel by id
	Tag       string            `json:"tag,omitempty"`       // time travel by tag
	Timestamp int64             `json:"timestamp,omitempty"` // time travel by time, ms
	Options   map[string]string `json:"options,omitempty"`   // dynamic table options
	Kind      bool              `json:"kind,omitempty"`      // lines begin with _kind (judge only)
	Splits    [][]byte          `json:"splits,omitempty"`    // read these instead of planning (judge only)
	// Out is a file that takes the lines instead of Rows.Lines, for large reads.
	Out string `json:"out,omitempty"`
}

// Rows is what was read.
type Rows struct {
	Lines   []string `json:"lines"`   // canonical JSON, sorted by bytes; nil with Query.Out
	Count   int64    `json:"rows"`    // rows, wherever their lines are
	Columns []string `json:"columns"` // without _kind
	Types   []string `json:"types"`   // Paimon's text of each column's type
}

// Check is the result of reading every snapshot in full.
type Check struct {
	Snapshots []CheckedSnapshot `json:"snapshots"` // ascending
	Rows      int64             `json:"rows"`      // of the latest state
}

// CheckedSnapshot is one snapshot's part of a Check.
type CheckedSnapshot struct {
	ID     int64  `json:"snapshot"`
	Kind   string `json:"kind"` // APPEND, COMPACT, …; empty from pypaimon
	Rows   int64  `json:"rows"`
	Digest string `json:"digest"` // of its lines, see Digest
	Error  string `json:"error"`  // why it could not be read, "" if it could
}

// Digest is the SHA-256 of lines, each with its end, in hexadecimal.
func Digest(lines []string) string {
	h := sha256.New()
	for _, l := range lines {
		io.WriteString(h, l+"\n")
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Write is rows for one commit.
type Write struct {
	Warehouse  string            `json:"warehouse"`
	Table      string            `json:"table"`
	User       string            `json:"user"`
	Identifier int64             `json:"commit_id"`
	Rows       [][]any           `json:"rows"` // [kind, values…], canonical
	Options    map[string]string `json:"options,omitempty"`
}

// Commit is prepared messages, to be published under an identifier.
type Commit struct {
	Warehouse  string   `json:"warehouse"`
	Table      string   `json:"table"`
	User       string   `json:"user"`
	Identifier int64    `json:"commit_id"`
	Messages   [][]byte `json:"messages"` // in the bytes of Java's CommitMessageSerializer
}

type queryCommand struct {
	Cmd string `json:"cmd"`
	Query
}

func (p *peer) read(ctx context.Context, q Query) (*Rows, error) {
	rows := new(Rows)
	if err := p.ask(ctx, "read", queryCommand{"read", q}, rows); err != nil {
		return nil, err
	}
	return rows, nil
}

func (p *peer) check(ctx context.Context, warehouse, table string) (*Check, error) {
	check := new(Check)
	if err := p.ask(ctx, "check", queryCommand{"check", Query{Warehouse: warehouse, Table: table}}, check); err != nil {
		return nil, err
	}
	return check, nil
}

func (p *peer) scenario(ctx context.Context, warehouse string, scenario any) error {
	if scenario == nil {
		return fmt.Errorf("asking %s to scenario: no scenario", p.name)
	}
	return p.ask(ctx, "scenario", struct {
		command
		Scenario any `json:"scenario"`
	}{command{"scenario", warehouse}, scenario}, nil)
}
