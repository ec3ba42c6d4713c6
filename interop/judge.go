package interop

import (
	"context"
	"os/exec"
)

// Judge is a running Java Paimon. Where documents disagree, what it does decides.
// Safe for concurrent use; requests are carried out one after another.
type Judge struct{ *peer }

// StartJudge starts the JVM, which takes a second or two. The caller closes it;
// it also ends with ctx.
func StartJudge(ctx context.Context) (*Judge, error) {
	e, err := locate(ctx)
	if err != nil {
		return nil, err
	}
	// It lives for a minute or two: what the second compiler costs it does not earn back.
	cmd := exec.CommandContext(ctx, e.java, "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"--add-opens=java.base/java.lang=ALL-UNNAMED",
		"--add-opens=java.base/java.nio=ALL-UNNAMED",
		"--add-opens=java.base/java.util=ALL-UNNAMED",
		"-cp", e.classpath, "org.tarnlake.judge.Main")
	p, err := start(ctx, "judge", cmd)
	if err != nil {
		return nil, err
	}
	return &Judge{p}, nil
}

// Read reads a table or system table.
func (j *Judge) Read(ctx context.Context, q Query) (*Rows, error) { return j.read(ctx, q) }

// Check reads every snapshot of a table. A snapshot that cannot be read is
// reported in the result; it is no error of the call.
func (j *Judge) Check(ctx context.Context, warehouse, table string) (*Check, error) {
	return j.check(ctx, warehouse, table)
}

// Scenario carries a scenario's operations out in a warehouse. The scenario is
// anything that encodes as JSON; it fails if an expectation in it is not met.
func (j *Judge) Scenario(ctx context.Context, warehouse string, scenario any) error {
	return j.scenario(ctx, warehouse, scenario)
}

// Stream follows a table from a snapshot id, "earliest" or "latest-full" up to
// snapshot to, 0 for the latest. Lines begin with _snapshot and _kind and keep the
// order of the reader.
func (j *Judge) Stream(ctx context.Context, q Query, from string, to int64) (*Rows, error) {
	request := struct {
		Cmd string `json:"cmd"`
		Query
		From string `json:"from"`
		To   int64  `json:"to,omitempty"`
	}{"stream", q, from, to}
	rows := new(Rows)
	if err := j.ask(ctx, "stream", request, rows); err != nil {
		return nil, err
	}
	return rows, nil
}

// Asked is what to read: as Read does, or as Stream does where From is not "".
type Asked struct {
	Query
	From string `json:"from,omitempty"`
	To   int64  `json:"to,omitempty"`
}

// ReadAll carries out several reads of one warehouse, with less effort than one by one.
// The warehouse of each is not looked at.
func (j *Judge) ReadAll(ctx context.Context, warehouse string, all []Asked) ([]*Rows, error) {
	request := struct {
		command
		Reads []Asked `json:"reads"`
	}{command{"reads", warehouse}, all}
	var reply struct {
		Reads []*Rows `json:"reads"`
	}
	err := j.ask(ctx, "reads", request, &reply)
	return reply.Reads, err
}

// Plan plans a read and returns the splits in Java's own bytes.
func (j *Judge) Plan(ctx context.Context, q Query) ([][]byte, error) {
	var reply struct {
		Splits [][]byte `json:"splits"`
	}
	err := j.ask(ctx, "plan", queryCommand{"plan", q}, &reply)
	return reply.Splits, err
}

// Prepare writes rows and returns the commit messages in Java's own bytes, without
// committing them.
func (j *Judge) Prepare(ctx context.Context, w Write) ([][]byte, error) {
	request := struct {
		Cmd string `json:"cmd"`
		Write
	}{"prepare", w}
	var reply struct {
		Messages [][]byte `json:"messages"`
	}
	err := j.ask(ctx, "prepare", request, &reply)
	return reply.Messages, err
}

// Commit publishes messages, whoever wrote them, and returns the latest snapshot
// id after that.
func (j *Judge) Commit(ctx context.Context, c Commit) (int64, error) {
	request := struct {
		Cmd string `json:"cmd"`
		Commit
	}{"commit", c}
	var reply struct {
		Snapshot int64 `json:"snapshot"`
	}
	err := j.ask(ctx, "commit", request, &reply)
	return reply.Snapshot, err
}

// Expire expires consumers, snapshots and changelogs as a commit does, with options
// besides those of the table.
func (j *Judge) Expire(ctx context.Context, warehouse, table string, options map[string]string) error {
	request := struct {
		command
		Table   string            `json:"table"`
		Options map[string]string `json:"options"`
	}{command{"expire", warehouse}, table, options}
	return j.ask(ctx, "expire", request, nil)
}

// TreeStep adds a file to a bucket of the judge's Compactions, or compacts it.
type TreeStep struct {
	Add  *TreeFile `json:"add,omitempty"`
	Full bool      `json:"full,omitempty"` // of a compaction
	Wait int64     `json:"wait,omitempty"` // milliseconds at least, before a compaction
}

// TreeFile is a data file of level 0 that exists as metadata only. Its keys are
// one INT.
type TreeFile struct {
	Name        string `json:"name"`
	Size        int64  `json:"size"`
	Min         int    `json:"min"`
	Max         int    `json:"max"`
	MinSequence int64  `json:"minSeq"`
	MaxSequence int64  `json:"maxSeq"`
	Deletes     *int64 `json:"deletes"` // nil = unknown
}

// TreeChange is a part of a compaction: a file that moves, or sections of runs of
// files that are merged into one.
type TreeChange struct {
	Level   int          `json:"level"`
	Upgrade string       `json:"upgrade,omitempty"`
	Rewrite [][][]string `json:"rewrite,omitempty"`
	Drop    bool         `json:"drop,omitempty"` // deletes are left out
}

// Compactions plays steps in a bucket of a table with the options given and says
// what each compaction did. The n-th rewrite puts out one file "m<n>" of three
// quarters of the bytes that went in.
func (j *Judge) Compactions(ctx context.Context, options map[string]string, steps []TreeStep) ([][]TreeChange, error) {
	request := struct {
		Cmd     string            `json:"cmd"`
		Options map[string]string `json:"options"`
		Steps   []TreeStep        `json:"steps"`
	}{"trees", options, steps}
	var reply struct {
		Compactions [][]TreeChange `json:"compactions"`
	}
	err := j.ask(ctx, "trees", request, &reply)
	return reply.Compactions, err
}
