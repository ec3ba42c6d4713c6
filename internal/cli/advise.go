package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/table"
)

func (a *app) tableAdvise() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "advise DB.TABLE",
		Short: "Tell what of a table is beyond its limits, and what to do",
		Long: `Tell which figures of a table are beyond a limit: sorted runs and small files, the
sizes of buckets, changelogs that wait, snapshots and consumers beyond retention,
commits in doubt, manifests. Each comes with its figure and limit, why it is felt, and
a command to run. Nothing but metadata is read, and nothing is changed; a table that
is well gets no advice. DB.TABLE$advice has the same as rows.`,
		Example: `  tarn table advise shop.orders
  tarn table read 'shop.orders$advice' --where "severity = 'warn'" --columns place,remedy`,
		Args: args(1, 1, "a table"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			if err := checkReportFormat(format); err != nil {
				return err
			}
			t, err := a.load(cmd.Context(), pos[0])
			if err != nil {
				return err
			}
			return a.advise(cmd.Context(), t, format)
		},
	}
	adviceFormat(cmd, &format)
	return cmd
}

func (a *app) dbAdvise() *cobra.Command {
	var format string
	var choice tableChoice
	cmd := &cobra.Command{
		Use:   "advise NAME",
		Short: "Tell what of a database's tables is beyond its limits, and what to do",
		Long: `Tell which figures of a database's tables are beyond a limit, as 'tarn table advise'
does. A table that cannot be read does not keep the others from it: the command goes on
and fails at the end.`,
		Example: `  tarn db advise shop
  tarn db advise shop --table 'orders*' -o jsonl`,
		Args: args(1, 1, "the name of a database"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			if err := checkReportFormat(format); err != nil {
				return err
			}
			return a.eachTable(cmd.Context(), pos[0], choice, func(t table.Table) error { return a.advise(cmd.Context(), t, format) })
		},
	}
	adviceFormat(cmd, &format)
	choice.register(cmd)
	return cmd
}

func adviceFormat(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVarP(format, "output", "o", "text", "text, or jsonl: each piece of advice as JSON")
}

// tableAdvice is advice as it is shown.
type tableAdvice struct {
	Table string `json:"table"`
	table.Advice
}

// advise prints the advice on one table.
func (a *app) advise(ctx context.Context, t table.Table, format string) error {
	found, err := t.Advise(ctx)
	if err != nil && len(found) == 0 {
		return err
	}
	if format == "jsonl" {
		enc := linesOf(a.out)
		for _, one := range found {
			if e := enc.Encode(tableAdvice{t.Name().String(), one}); e != nil {
				return errors.Join(err, outErr(e))
			}
		}
		return err
	}
	_, e := fmt.Fprintf(a.out, "%s: %s\n%s", t.Name(), adviceCount(found), adviceLines(found))
	return errors.Join(err, outErr(e))
}

// linesOf writes values as lines of JSON, in which command lines can be read.
func linesOf(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// adviceCount says how much advice there is.
func adviceCount(found []table.Advice) string {
	warnings := 0
	for _, a := range found {
		if a.Severity == table.AdviceWarn {
			warnings++
		}
	}
	switch notes := len(found) - warnings; {
	case len(found) == 0:
		return "nothing to advise"
	case warnings == 0:
		return count(int64(notes), "note")
	case notes == 0:
		return count(int64(warnings), "warning")
	default:
		return count(int64(warnings), "warning") + ", " + count(int64(notes), "note")
	}
}

// adviceLines are the pieces of advice, indented below their table.
func adviceLines(found []table.Advice) string {
	var b strings.Builder
	for _, a := range found {
		fmt.Fprintf(&b, "  %s  %s (%s): %s, limit %s\n        %s\n        %s\n", a.Severity, a.Subject, a.Where,
			figureText(a.Figure, a.Unit), limitText(a.Limit, a.Unit), a.Text, a.Remedy)
	}
	return b.String()
}

// figureText is a figure for people.
func figureText(n int64, unit string) string {
	switch unit {
	case "bytes", "seconds", "percent":
		return limitText(n, unit)
	}
	if n == 1 {
		unit = strings.TrimSuffix(unit, "s")
	}
	return fmt.Sprintf("%d %s", n, unit)
}

// limitText is a limit for people, of things counted their number alone.
func limitText(n int64, unit string) string {
	switch unit {
	case "bytes":
		return bytesText(n)
	case "seconds":
		return (time.Duration(n) * time.Second).String()
	case "percent":
		return fmt.Sprintf("%d %%", n)
	}
	return fmt.Sprint(n)
}
