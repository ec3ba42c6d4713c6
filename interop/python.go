package interop

import (
	"context"
	"os"
	"os/exec"
)

// Python is a running pypaimon. Safe for concurrent use; requests are carried out
// one after another.
type Python struct{ *peer }

// StartPython starts the interpreter, which takes about two seconds. The caller
// closes it; it also ends with ctx.
func StartPython(ctx context.Context) (*Python, error) {
	e, err := locate(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, e.python, e.peer)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "TZ=UTC")
	p, err := start(ctx, "pypaimon", cmd)
	if err != nil {
		return nil, err
	}
	return &Python{p}, nil
}

// Read reads a table. What pypaimon cannot do fails by name.
func (p *Python) Read(ctx context.Context, q Query) (*Rows, error) { return p.read(ctx, q) }

// Check reads every snapshot of a table. A snapshot that cannot be read is
// reported in the result; it is no error of the call.
func (p *Python) Check(ctx context.Context, warehouse, table string) (*Check, error) {
	return p.check(ctx, warehouse, table)
}

// Scenario carries out the operations create_table, write and expect. Other
// operations, and rows of a kind other than +I, fail by name.
func (p *Python) Scenario(ctx context.Context, warehouse string, scenario any) error {
	return p.scenario(ctx, warehouse, scenario)
}
