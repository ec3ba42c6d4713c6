package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

func (a *app) tableTruncate() *cobra.Command {
	var rm removal
	cmd := &cobra.Command{
		Use:   "truncate DB.TABLE",
		Short: "Remove all rows of a table",
		Long: `Remove all rows of a table. The table stays, with its schema and options; earlier
snapshots keep the rows until they expire.`,
		Args: args(1, 1, "a table"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			ctx := cmd.Context()
			if err := rm.check(); err != nil {
				return err
			}
			t, err := a.load(ctx, pos[0])
			if err != nil {
				return err
			}
			rows, err := physicalRows(ctx, t)
			if err != nil {
				return err
			}
			if err := a.confirm(ctx, rm.yes, fmt.Sprintf("Remove %s of %s?", count(rows, "row"), t.Name())); err != nil {
				return err
			}
			begun := time.Now()
			report, err := t.Truncate(ctx, table.CommitOptions{})
			return rm.end(a.out, "all rows of "+t.Name().String(), report, err, time.Since(begun))
		},
	}
	rm.flags(cmd)
	return cmd
}

// physicalRows is the number of rows in the files of the latest snapshot.
func physicalRows(ctx context.Context, t table.Table) (int64, error) {
	s, err := t.Snapshot(ctx, 0)
	if tarnerr.KindOf(err) == tarnerr.NotFound {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return s.TotalRecordCount, nil
}

// removal is what commands that remove rows have in common.
type removal struct {
	yes    bool
	format string
}

func (rm *removal) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&rm.yes, "yes", "y", false, "do not ask; needed where there is no terminal to ask on")
	cmd.Flags().StringVarP(&rm.format, "output", "o", "text", "text, or jsonl: the commit's report as JSON")
}

func (rm *removal) check() error { return checkReportFormat(rm.format) }

func checkReportFormat(format string) error {
	if format != "text" && format != "jsonl" {
		return tarnerr.New(tarnerr.Invalid, "reading command line", "no such output format", "output", format).
			WithHint("Formats are text and jsonl.")
	}
	return nil
}

// end tells how a commit ended, be it well or not.
func (rm *removal) end(w io.Writer, what string, report *table.CommitReport, err error, took time.Duration) error {
	if err != nil && (rm.format != "jsonl" || report == nil) {
		return err
	}
	return errors.Join(err, rm.tell(w, what, report, took))
}

// tell prints a report.
func (rm *removal) tell(w io.Writer, what string, report *table.CommitReport, took time.Duration) error {
	switch {
	case rm.format == "jsonl":
		return outErr(json.NewEncoder(w).Encode(report))
	case len(report.Snapshots) == 0:
		fmt.Fprintln(w, "nothing to remove")
	default:
		fmt.Fprintf(w, "removed %s: %s in %s, as %s in %.3f s\n", what, count(-report.Rows, "row"), count(int64(report.FilesGone), "file"),
			snapshotNames(report.Snapshots), took.Seconds())
	}
	return nil
}

// snapshotNames names those that were published: one, or rows and what was compacted
// with them.
func snapshotNames(ids []int64) string {
	text := strings.ReplaceAll(strings.Trim(fmt.Sprint(ids), "[]"), " ", ", ")
	if len(ids) == 1 {
		return "snapshot " + text
	}
	return "snapshots " + text
}

// count is a number of things, with its noun.
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// errDeclined is a no to a question.
var errDeclined = errors.New("nothing was changed")

// confirmDrop asks before something is dropped where a person may have slipped: on a
// terminal. Scripts, which have none, drop without --yes, as they always could.
func (a *app) confirmDrop(ctx context.Context, yes bool, question func() string) error {
	_, in := terminal(a.in)
	_, told := terminal(a.errOut)
	if yes || !in || !told {
		return nil
	}
	return a.confirm(ctx, yes, question())
}

// confirm asks on the terminal before something is removed, unless yes was said
// on the command line.
func (a *app) confirm(ctx context.Context, yes bool, question string) error {
	if yes {
		return nil
	}
	_, in := terminal(a.in)
	_, told := terminal(a.errOut)
	if !in || !told {
		return tarnerr.New(tarnerr.Invalid, "asking", "there is no terminal to ask on").WithHint("Give --yes to remove rows without being asked.")
	}
	fmt.Fprintf(a.errOut, "%s [y/N] ", question)
	// The read cannot be stopped; with the answer it is over, or with the process.
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(a.in).ReadString('\n')
		answer <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.errOut)
		return ctx.Err()
	case line := <-answer:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
		return errDeclined
	}
}
