package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	gotable "github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

func (a *app) commit() *cobra.Command {
	cmd := group(&cobra.Command{
		Use: "commit", Short: "Commits whose outcome is not known: list, resolve; abort messages",
		Long: `A commit whose process died, or to whose last request no answer came, is neither
done nor undone until somebody looks: it leaves an intent beside the table. Nothing
of it may be repeated or deleted before. How the others ended is in 'DB.TABLE$commits'.`,
	})
	resolve := a.commitResolve()
	resolve.ValidArgsFunction = a.completeTable
	abort := a.commitAbort()
	abort.ValidArgsFunction = a.completeTable
	cmd.AddCommand(a.commitList(), resolve, abort)
	return cmd
}

// tablePending is a pending commit as it is listed.
type tablePending struct {
	Table string `json:"table"`
	table.PendingCommit
}

func (a *app) commitList() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "list [DB | DB.TABLE]",
		Short: "List commits whose outcome is not known, of the warehouse, a database or a table",
		Args:  args(0, 1, "at most one database or table"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			ctx := cmd.Context()
			if err := checkListFormat(format); err != nil {
				return err
			}
			names, err := a.tablesOf(ctx, pos)
			if err != nil {
				return err
			}
			var found []tablePending
			var errs []error
			for _, name := range names {
				t, err := a.load(ctx, name)
				if err == nil {
					var pending []table.PendingCommit
					pending, err = t.PendingCommits(ctx)
					for _, p := range pending {
						found = append(found, tablePending{t.Name().String(), p})
					}
				}
				if err != nil && (len(names) == 1 || tarnerr.KindOf(err) != tarnerr.Unsupported) {
					errs = append(errs, err)
				}
			}
			now := time.Now()
			rows := make([]gotable.Row, len(found))
			for i, p := range found {
				rows[i] = gotable.Row{p.Table, p.User, identifierText(p.Identifier), p.Kind, p.Base, ageText(now, p.Begun), len(p.Files)}
			}
			if err := printList(a, format, gotable.Row{"table", "user", "identifier", "kind", "base", "age", "files"}, rows, found); err != nil {
				return err
			}
			return firstOf(errs)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "table", "table or jsonl")
	return cmd
}

// tablesOf lists the tables that an optional argument names.
func (a *app) tablesOf(ctx context.Context, pos []string) (names []string, err error) {
	if len(pos) == 1 && strings.Contains(pos[0], ".") {
		return pos, nil
	}
	cat, err := a.catalog(ctx)
	if err != nil {
		return nil, err
	}
	dbs := pos
	if len(pos) == 0 {
		if dbs, err = cat.ListDatabases(ctx); err != nil {
			return nil, err
		}
	}
	for _, db := range dbs {
		tables, err := cat.ListTables(ctx, db)
		if err != nil {
			return nil, err
		}
		for _, t := range tables {
			names = append(names, db+"."+t)
		}
	}
	return names, nil
}

// tableResolution is a resolution as it is shown.
type tableResolution struct {
	Table string `json:"table"`
	table.Resolution
}

func (a *app) commitResolve() *cobra.Command {
	var which table.CommitFilter
	var all bool
	var format string
	cmd := &cobra.Command{
		Use:   "resolve DB.TABLE (--user USER --id N | --all)",
		Short: "Find out what became of commits",
		Long: `Find out what became of a commit, or of all whose outcome is not known: committed
(with its snapshot), not committed (with the snapshots that were read for it), or
still unknown (with what is missing). What is certain is put on record. No file is
deleted: data files of a commit that has not landed are removed with the orphans.

A commit that was heard of within --grace may still be at work: it stays unknown
until it has landed or the time has passed. Give less only when its process is gone.

The exit code is 7 when one is still unknown.`,
		Example: `  tarn commit resolve shop.orders --user feed --id 17
  tarn commit resolve shop.orders --all -o jsonl`,
		Args: args(1, 1, "a table"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			if err := checkListFormat(format); err != nil {
				return err
			}
			switch {
			case all == (which.User != "" || which.Identifier != 0):
				return usage(errors.New("give either --user and --id, or --all"))
			case !all && (which.User == "" || which.Identifier < 1):
				return usage(errors.New("--user and --id go together, and ids begin with 1"))
			case cmd.Flags().Changed("grace") && which.Grace <= 0:
				return usage(fmt.Errorf("--grace %v is no time to wait", which.Grace))
			}
			t, err := a.load(cmd.Context(), pos[0])
			if err != nil {
				return err
			}
			found, err := t.ResolveCommits(cmd.Context(), which)
			return a.showResolutions(t.Name().String(), format, found, err)
		},
	}
	f := cmd.Flags()
	f.StringVar(&which.User, "user", "", "commit user")
	f.Int64Var(&which.Identifier, "id", 0, "commit identifier")
	f.BoolVar(&all, "all", false, "all commits of the table whose outcome is not known")
	f.DurationVar(&which.Grace, "grace", 10*time.Minute, "how long a commit is taken to be at work after it was last heard of")
	f.StringVarP(&format, "output", "o", "table", "table or jsonl")
	return cmd
}

func (a *app) showResolutions(name, format string, found []table.Resolution, err error) error {
	unknown := 0
	lines := make([]tableResolution, len(found))
	rows := make([]gotable.Row, len(found))
	for i, r := range found {
		lines[i] = tableResolution{name, r}
		if r.Status == table.Unknown {
			unknown++
		}
		rows[i] = gotable.Row{r.User, identifierText(r.Identifier), r.Kind, r.Status, resolutionText(r)}
	}
	if printErr := printList(a, format, gotable.Row{"user", "identifier", "kind", "status", "because"}, rows, lines); printErr != nil {
		return printErr
	}
	switch {
	case err != nil:
		return err
	case unknown > 0:
		return tarnerr.New(tarnerr.CommitStateUnknown, "resolving commits", "the outcome is still unknown", "table", name, "commits", unknown).
			WithHint("Keep all files and repeat nothing; resolve again later, or commit the same messages again under the same user and identifier.")
	}
	return nil
}

// resolutionText is what an outcome rests on.
func resolutionText(r table.Resolution) string {
	switch {
	case r.Status == table.Succeeded:
		return fmt.Sprintf("committed as snapshot %d", r.Snapshot)
	case r.Status == table.Unknown:
		return "still unknown: " + r.Missing
	case r.ReadTo == 0:
		return fmt.Sprintf("not committed: no snapshot follows %d", r.Base)
	}
	return fmt.Sprintf("not committed: read snapshots %d to %d", r.ReadFrom, r.ReadTo)
}

func checkListFormat(format string) error {
	if format != "table" && format != "jsonl" {
		return tarnerr.New(tarnerr.Invalid, "reading command line", "no such output format", "output", format).
			WithHint("Formats are table and jsonl.")
	}
	return nil
}

// printList prints rows for people, or lines as JSON.
func printList[L any](a *app, format string, header gotable.Row, rows []gotable.Row, lines []L) error {
	if format == "jsonl" {
		enc := json.NewEncoder(a.out)
		for _, l := range lines {
			if err := enc.Encode(l); err != nil {
				return outErr(err)
			}
		}
		return nil
	}
	t := gotable.NewWriter()
	t.SetStyle(gotable.StyleLight)
	t.Style().Format.Header = 0 // names as they are
	t.AppendHeader(header)
	t.AppendRows(rows)
	_, err := fmt.Fprintln(a.out, t.Render())
	return outErr(err)
}

// identifierText is an identifier as people read it.
func identifierText(id int64) string {
	if id == table.BatchIdentifier {
		return "batch"
	}
	return strconv.FormatInt(id, 10)
}

func ageText(now, begun time.Time) string {
	if begun.IsZero() {
		return ""
	}
	age := now.Sub(begun)
	if age < 48*time.Hour {
		return max(age, 0).Round(time.Second).String()
	}
	return fmt.Sprintf("%d days", int(age.Hours()/24))
}

func firstOf(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return errs[0]
}
