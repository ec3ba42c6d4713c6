package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// upkeepFlags are what the upkeep of a table and of a database have in common.
type upkeepFlags struct {
	noCompact bool
	rate      string
	every     string
	format    string
}

func (fl *upkeepFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&fl.noCompact, "no-compact", false, "leave compaction to others")
	f.StringVar(&fl.rate, "rate-limit", "", "bytes that a compaction writes per second at most, as 8 mb")
	f.StringVar(&fl.every, "every", "", "do it again in so much time, as 10m, until a signal comes (default: once)")
	f.StringVarP(&fl.format, "output", "o", "text", "text, or jsonl: the reports as JSON")
}

// upkeep is one run of the job.
type upkeep struct {
	app     *app
	compact *table.CompactOptions // nil = not
	every   time.Duration         // 0 = once
	format  string
	told    map[string]string // advice told last, by table
}

func (fl *upkeepFlags) job(a *app, cmd *cobra.Command) (*upkeep, error) {
	u := &upkeep{app: a, format: fl.format, told: map[string]string{}}
	if err := checkReportFormat(fl.format); err != nil {
		return nil, err
	}
	rate, err := rateLimit(fl.rate)
	if err != nil {
		return nil, err
	}
	if fl.noCompact && fl.rate != "" {
		return nil, usage(errors.New("--rate-limit is for compactions, which --no-compact leaves out"))
	}
	if !fl.noCompact {
		u.compact = &table.CompactOptions{Minor: true, BytesPerSecond: rate}
	}
	if cmd.Flags().Changed("every") {
		if u.every, err = interval("every", fl.every); err != nil {
			return nil, err
		}
		if u.every <= 0 {
			return nil, usage(fmt.Errorf("--every %s is no time", fl.every))
		}
	}
	return u, nil
}

// upkeepLong says what is done to a table.
const upkeepLong = `1. Commits whose outcome is not known are resolved, as 'tarn commit resolve --all' does.
2. What the table's options find worth it is compacted, as by 'tarn table compact
   --minor', unless --no-compact is given.
3. Snapshots beyond retention expire, as by 'tarn table expire', until none is left.
4. The advice that is left is printed, as by 'tarn table advise'.

A step that fails does not keep the others from it; the exit code tells of it at the
end. With --every it is done again and again until a signal comes, which lets a publish
that has begun end. Then only what was done is printed, and advice that is new; the exit
code tells of the last round. Writers, Flink and Spark, and other jobs like this one may
go on beside it.`

func (a *app) tableUpkeep() *cobra.Command {
	var fl upkeepFlags
	cmd := &cobra.Command{
		Use:   "upkeep DB.TABLE",
		Short: "Do what a table needs from time to time: resolve, compact, expire, advise",
		Long:  "Do what a table needs from time to time:\n\n" + upkeepLong,
		Example: `  tarn table upkeep shop.orders
  tarn table upkeep shop.orders --every 10m --rate-limit '8 mb'`,
		Args: args(1, 1, "a table"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			u, err := fl.job(a, cmd)
			if err != nil {
				return err
			}
			if _, err := a.load(cmd.Context(), pos[0]); err != nil {
				return err // before it is tried again and again
			}
			return u.run(cmd.Context(), func(ctx context.Context) error {
				t, err := a.load(ctx, pos[0])
				if err != nil {
					return err
				}
				return u.table(ctx, t)
			})
		},
	}
	fl.register(cmd)
	return cmd
}

func (a *app) dbUpkeep() *cobra.Command {
	var fl upkeepFlags
	var choice tableChoice
	cmd := &cobra.Command{
		Use:   "upkeep NAME",
		Short: "Do what the tables of a database need from time to time: resolve, compact, expire, advise",
		Long: `Do what the tables of a database need from time to time, one table after the other:

` + upkeepLong + `

Tables that come later are seen to as well, and one that fails does not keep the others
from it.`,
		Example: `  tarn db upkeep shop
  tarn db upkeep shop --table 'orders*' --every 10m --rate-limit '8 mb'`,
		Args: args(1, 1, "the name of a database"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			u, err := fl.job(a, cmd)
			if err != nil {
				return err
			}
			if _, err := a.chosenTables(cmd.Context(), pos[0], choice); err != nil {
				return err // before it is tried again and again
			}
			return u.run(cmd.Context(), func(ctx context.Context) error {
				return a.eachTable(ctx, pos[0], choice, func(t table.Table) error { return u.table(ctx, t) })
			})
		},
	}
	fl.register(cmd)
	choice.register(cmd)
	return cmd
}

// run does a round once, or again and again until a signal comes. The last round that
// a signal did not cut short then tells how it ends.
func (u *upkeep) run(ctx context.Context, round func(context.Context) error) error {
	if u.every == 0 {
		return round(ctx)
	}
	var last error
	for {
		err := round(ctx)
		if ctx.Err() != nil {
			if tarnerr.KindOf(err) == tarnerr.CommitStateUnknown {
				return err
			}
			return last
		}
		if last = err; err != nil {
			fmt.Fprintf(u.app.errOut, "tarn: %v\n", err)
		}
		next := time.NewTimer(u.every)
		select {
		case <-next.C:
		case <-ctx.Done():
			next.Stop()
			return last
		}
	}
}

// upkeepReport is what was done to one table.
type upkeepReport struct {
	Table      string                `json:"table"`
	Resolved   []table.Resolution    `json:"resolved,omitempty"`
	Compaction *table.CompactReport  `json:"compaction,omitempty"`
	Expiries   []*table.ExpireReport `json:"expiries,omitempty"`
	Advice     []table.Advice        `json:"advice"`
	Errors     []string              `json:"errors,omitempty"`
	stopped    bool                  // by a signal: what was not done is not told of
}

// table sees to one table, step by step, and prints what became of it.
func (u *upkeep) table(ctx context.Context, t table.Table) error {
	r := upkeepReport{Table: t.Name().String(), Advice: []table.Advice{}}
	var failed error
	for _, step := range []func(context.Context, table.Table, *upkeepReport) error{u.resolve, u.compactTable, u.expire, u.advise} {
		err := ctx.Err()
		if err == nil {
			err = step(ctx, t, &r)
		}
		failed = errors.Join(failed, err)
		if stopped(ctx, err) {
			r.stopped = true
			break
		}
		if err != nil {
			r.Errors = append(r.Errors, err.Error())
		}
	}
	return errors.Join(failed, u.print(&r))
}

func (u *upkeep) resolve(ctx context.Context, t table.Table, r *upkeepReport) error {
	found, err := t.ResolveCommits(ctx, table.CommitFilter{})
	for _, f := range found {
		if f.Status != table.Unknown { // else it is at work, or advice tells of it
			r.Resolved = append(r.Resolved, f)
		}
	}
	return err
}

func (u *upkeep) compactTable(ctx context.Context, t table.Table, r *upkeepReport) (err error) {
	if u.compact != nil {
		r.Compaction, err = u.app.compactTable(ctx, t, *u.compact)
	}
	return err
}

// expire expires what is beyond retention, run after run, as one takes no more than
// snapshot.expire.limit.
func (u *upkeep) expire(ctx context.Context, t table.Table, r *upkeepReport) error {
	for {
		report, err := u.app.expireTable(ctx, t, table.ExpireOptions{})
		if report != nil && (report.Record != "" || report.Resumed != "") {
			r.Expiries = append(r.Expiries, report)
		}
		if err != nil || len(report.Snapshots)+len(report.Changelogs) == 0 {
			return err
		}
	}
}

func (u *upkeep) advise(ctx context.Context, t table.Table, r *upkeepReport) error {
	found, err := t.Advise(ctx)
	r.Advice = append(r.Advice, found...)
	return err
}

// print prints a report. Of a job that goes on, a table of which there is nothing new
// to tell is not printed a second time.
func (u *upkeep) print(r *upkeepReport) error {
	if u.format == "jsonl" {
		return outErr(linesOf(u.app.out).Encode(r))
	}
	did := r.did()
	if len(r.Errors) > 0 {
		did = append(did, count(int64(len(r.Errors)), "step")+" failed")
	}
	before, again := u.told[r.Table]
	old := again && before == r.rules()
	if len(did) == 0 && (old || r.stopped) {
		return nil
	}
	if len(did) == 0 {
		did = append(did, "nothing to do")
	}
	lines := ""
	if len(r.Advice) > 0 {
		did = append(did, adviceCount(r.Advice))
	}
	if !r.stopped {
		u.told[r.Table] = r.rules()
	}
	if !old {
		lines = adviceLines(r.Advice)
	}
	_, err := fmt.Fprintf(u.app.out, "%s: %s\n%s", r.Table, strings.Join(did, "; "), lines)
	return outErr(err)
}

// rules names the advice of a report, whatever the figures.
func (r *upkeepReport) rules() string {
	var b strings.Builder
	for _, a := range r.Advice {
		fmt.Fprintf(&b, "%s %s\n", a.Rule, a.Where)
	}
	return b.String()
}

// did says what was done.
func (r *upkeepReport) did() []string {
	var out []string
	if n := len(r.Resolved); n > 0 {
		out = append(out, "resolved "+count(int64(n), "commit"))
	}
	if c := r.Compaction; c != nil && (c.Compacted > 0 || c.Lost > 0) {
		out = append(out, compactText(c))
	}
	for _, e := range r.Expiries {
		out = append(out, expireText(e))
	}
	return out
}
