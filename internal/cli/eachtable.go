package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// tableChoice is the flag that chooses tables of a database.
type tableChoice struct{ patterns []string }

func (c *tableChoice) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&c.patterns, "table", nil, "tables to see to, by name or as 'orders*'; may be given again (default: all)")
}

func (c *tableChoice) check() error {
	for _, p := range c.patterns {
		if _, err := path.Match(p, ""); err != nil {
			return usage(fmt.Errorf("--table %q is no pattern", p))
		}
	}
	return nil
}

func (c *tableChoice) takes(name string) bool {
	return c.patterns == nil || slices.ContainsFunc(c.patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// chosenTables lists the tables of a database that are chosen.
func (a *app) chosenTables(ctx context.Context, db string, choice tableChoice) ([]string, error) {
	if err := choice.check(); err != nil {
		return nil, err
	}
	cat, err := a.catalog(ctx)
	if err != nil {
		return nil, err
	}
	names, err := cat.ListTables(ctx, db)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !choice.takes(n) })
	if len(names) == 0 && choice.patterns != nil {
		return nil, tarnerr.New(tarnerr.NotFound, "choosing tables", "no table has such a name", "database", db, "names", choice.patterns)
	}
	return names, nil
}

// eachTable does something to the tables of a database that are chosen, one after the
// other. One that fails does not keep the others from it; it ends when the context does.
func (a *app) eachTable(ctx context.Context, db string, choice tableChoice, do func(t table.Table) error) error {
	names, err := a.chosenTables(ctx, db, choice)
	if err != nil {
		return err
	}
	var failed error
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return errors.Join(failed, err)
		}
		t, err := a.cat.LoadTable(ctx, table.Identifier{Database: db, Table: name})
		if err == nil {
			err = do(t)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}
