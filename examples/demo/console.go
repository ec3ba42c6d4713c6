package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tarnlake/tarn/tarnsql"
)

// console shows SQL as one types it at the prompt of `tarn sql`, and what comes back.
type console struct{ db *tarnsql.DB }

// run prints why and each statement, runs it, and prints what it did or its
// rows. It returns the rows of the last statement, as text.
func (c console) run(ctx context.Context, why string, statements ...string) (rows [][]string, err error) {
	fmt.Printf("\n   %s\n", why)
	for _, s := range statements {
		s = strings.TrimSpace(s)
		prompt := c.db.Database() + "> "
		more := strings.Repeat(" ", len(prompt)-3) + "-> "
		fmt.Printf("     %s%s;\n", prompt, strings.ReplaceAll(s, "\n", "\n     "+more))
		if rows, err = c.exec(ctx, s); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (c console) exec(ctx context.Context, statement string) ([][]string, error) {
	start := time.Now()
	r, err := c.db.Exec(ctx, statement)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Rows != nil:
		rows, err := printRows(ctx, r.Rows)
		if err == nil {
			fmt.Printf("     (%s in %.3f s)\n", counted(len(rows)), time.Since(start).Seconds())
		}
		return rows, err
	case r.Report != nil:
		fmt.Printf("     %s: %s, snapshot %v\n", r.Statement, counted(int(r.Count)), r.Report.Snapshots)
	default:
		fmt.Printf("     %s\n", r.Statement)
	}
	return nil, nil
}

func counted(rows int) string {
	if rows == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", rows)
}

// check compares the rows of a statement with those it must have.
func check(got, want [][]string) error {
	if !slices.EqualFunc(got, want, slices.Equal) {
		return fmt.Errorf("the rows are %v, want %v", got, want)
	}
	return nil
}
