package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/table"
)

// expireFlags are what expiries of a table and of a database have in common.
type expireFlags struct {
	retainMin, retainMax       int
	changelogMin, changelogMax int
	limit                      int
	olderThan                  string
	dryRun                     bool
	options                    []string
	format                     string
}

func (fl *expireFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&fl.retainMin, "retain-min", 0, "snapshots to keep at least (default: the option snapshot.num-retained.min)")
	f.IntVar(&fl.retainMax, "retain-max", 0, "snapshots to keep at most (default: the option snapshot.num-retained.max)")
	f.StringVar(&fl.olderThan, "older-than", "", "age, as '36 h', or time from which on snapshots go (default: the option snapshot.time-retained)")
	f.IntVar(&fl.changelogMin, "changelog-retain-min", 0, "changelogs to keep at least (default: the option changelog.num-retained.min)")
	f.IntVar(&fl.changelogMax, "changelog-retain-max", 0, "changelogs to keep at most (default: the option changelog.num-retained.max)")
	f.IntVar(&fl.limit, "limit", 0, "snapshots that go at most (default: the option snapshot.expire.limit)")
	f.BoolVar(&fl.dryRun, "dry-run", false, "tell what would go, and change nothing")
	f.StringArrayVar(&fl.options, "option", nil, "table option for this expiry, as key=value")
	f.StringVarP(&fl.format, "output", "o", "text", "text, or jsonl: the report as JSON")
}

// expireOptions reads the flags.
func (fl *expireFlags) expireOptions(cmd *cobra.Command) (table.ExpireOptions, error) {
	opts := table.ExpireOptions{DryRun: fl.dryRun}
	if err := checkReportFormat(fl.format); err != nil {
		return opts, err
	}
	var err error
	if opts.Options, err = keyValues(fl.options); err != nil {
		return opts, err
	}
	for _, f := range []struct {
		flag, key string
		n         int
	}{
		{"retain-min", "snapshot.num-retained.min", fl.retainMin},
		{"retain-max", "snapshot.num-retained.max", fl.retainMax},
		{"changelog-retain-min", "changelog.num-retained.min", fl.changelogMin},
		{"changelog-retain-max", "changelog.num-retained.max", fl.changelogMax},
		{"limit", "snapshot.expire.limit", fl.limit},
	} {
		if !cmd.Flags().Changed(f.flag) {
			continue
		}
		if f.n < 1 {
			return opts, usage(fmt.Errorf("--%s %d: it is 1 at least", f.flag, f.n))
		}
		if _, twice := opts.Options[f.key]; twice {
			return opts, usage(fmt.Errorf("--%s and --option %s say the same", f.flag, f.key))
		}
		opts.Options[f.key] = strconv.Itoa(f.n)
	}
	for _, p := range []struct {
		prefix   string
		low, top int
	}{{"", fl.retainMin, fl.retainMax}, {"changelog-", fl.changelogMin, fl.changelogMax}} {
		if p.top > 0 && p.top < p.low {
			return opts, usage(fmt.Errorf("--%sretain-max %d is less than --%sretain-min %d", p.prefix, p.top, p.prefix, p.low))
		}
	}
	if cmd.Flags().Changed("older-than") {
		opts.OlderThan, err = pastTime("older-than", fl.olderThan, time.Now())
	}
	return opts, err
}

// pastTime reads a time, or how long ago it was.
func pastTime(flag, text string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	ago, err := interval(flag, text)
	return now.Add(-ago), err
}

// interval reads a time interval with its unit.
func interval(flag, text string) (time.Duration, error) {
	d, err := option.ParseDuration(flag, text)
	switch {
	case err != nil:
		return 0, err
	case strings.TrimRight(strings.TrimSpace(text), "0123456789") == "":
		return 0, usage(fmt.Errorf("--%s %s has no unit: give it as '36 h' or 7d", flag, text))
	}
	return d, nil
}

func (a *app) tableExpire() *cobra.Command {
	var fl expireFlags
	cmd := &cobra.Command{
		Use:   "expire DB.TABLE",
		Short: "Remove snapshots beyond retention, with the files that only they need",
		Long: `Expire a table's snapshots that its options, or the flags, keep no longer: time travel
to them ends, and files go that no other snapshot, tag or branch needs. What goes is
what Java's expiry removes with the same options. Snapshots stay that a consumer has
not read, or on which a commit in doubt may be built.

Snapshots beyond --retain-max go whatever their age, and of the others those older than
--older-than, but for the --retain-min latest; no more than --limit in one run.

Commits themselves remove nothing: let this, or 'tarn db upkeep', run regularly. An
expiry that was stopped is finished by the next one. Each leaves a record of what it did.`,
		Example: `  tarn table expire shop.orders --dry-run
  tarn table expire shop.orders --retain-min 1 --older-than '7 d'`,
		Args: args(1, 1, "a table"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			opts, err := fl.expireOptions(cmd)
			if err != nil {
				return err
			}
			t, err := a.load(cmd.Context(), pos[0])
			if err != nil {
				return err
			}
			return a.expire(cmd.Context(), t, opts, fl.format)
		},
	}
	fl.register(cmd)
	return cmd
}

func (a *app) dbExpire() *cobra.Command {
	var fl expireFlags
	var choice tableChoice
	cmd := &cobra.Command{
		Use:   "expire NAME",
		Short: "Remove snapshots beyond retention of all tables of a database",
		Long: `Expire the snapshots of all tables of a database, one after the other, as 'tarn table
expire' does. A table that cannot be seen to does not keep the others from it: the
command goes on and fails at the end.`,
		Example: `  tarn db expire shop
  tarn db expire shop --table 'orders*' --older-than '7 d' --dry-run -o jsonl`,
		Args: args(1, 1, "the name of a database"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			opts, err := fl.expireOptions(cmd)
			if err != nil {
				return err
			}
			return a.eachTable(cmd.Context(), pos[0], choice, func(t table.Table) error { return a.expire(cmd.Context(), t, opts, fl.format) })
		},
	}
	fl.register(cmd)
	choice.register(cmd)
	return cmd
}

// expire expires snapshots of one table and prints what became of it.
func (a *app) expire(ctx context.Context, t table.Table, opts table.ExpireOptions, format string) error {
	report, err := a.expireTable(ctx, t, opts)
	if report == nil {
		return err
	}
	if format == "jsonl" {
		return errors.Join(err, outErr(json.NewEncoder(a.out).Encode(struct {
			Table string `json:"table"`
			*table.ExpireReport
		}{t.Name().String(), report})))
	}
	text := expireText(report)
	if err != nil && text == nothingToExpire {
		return err
	}
	_, e := fmt.Fprintf(a.out, "%s: %s\n%s", t.Name(), text, heldLines(report))
	return errors.Join(err, outErr(e))
}

// expireTable expires snapshots of one table under a progress bar.
func (a *app) expireTable(ctx context.Context, t table.Table, opts table.ExpireOptions) (*table.ExpireReport, error) {
	bar := a.workBar(t.Name().String(), false)
	defer bar.end()
	opts.Progress = func(p table.ExpireProgress) { bar.show(p.FilesDone, p.Files) }
	return t.Expire(ctx, opts)
}

const nothingToExpire = "nothing to expire"

// expireText says what an expiry did, or would do.
func expireText(r *table.ExpireReport) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if r.Resumed != "" {
		add("finished what another expiry, stopped or still at work, had begun")
	}
	did, deleted := "expired", "deleted"
	if r.DryRun {
		did, deleted = "would expire", "would delete"
	}
	if len(r.Snapshots) > 0 {
		add("%s %s", did, idsText("snapshot", r.Snapshots))
	}
	if len(r.Changelogs) > 0 {
		add("%s %s", did, idsText("changelog", r.Changelogs))
	}
	if len(r.Consumers) > 0 {
		add("%s %s", did, namesText("consumer", r.Consumers))
	}
	files := int64(r.FilesDeleted)
	if r.DryRun {
		files = int64(r.Files)
	}
	switch {
	case r.Bytes > 0:
		add("%s %s with %s of data", deleted, count(files, "file"), bytesText(r.Bytes))
	case files > 0:
		add("%s %s", deleted, count(files, "file"))
	}
	if r.FilesHeld > 0 {
		add("%s kept for a tag or branch", count(int64(r.FilesHeld), "file"))
	}
	if r.FilesFailed > 0 {
		add("%s could not be deleted", count(int64(r.FilesFailed), "file"))
	}
	if len(parts) == 0 {
		return nothingToExpire
	}
	text := strings.Join(parts, "; ")
	if !r.DryRun {
		text += fmt.Sprintf(", in %.3f s", r.Elapsed.Seconds())
	}
	return text
}

// heldLines say what keeps snapshots beyond retention, indented below the table.
func heldLines(r *table.ExpireReport) string {
	var b strings.Builder
	for _, h := range r.Held {
		who := h.By
		if h.Name != "" {
			who += " " + h.Name
		}
		fmt.Fprintf(&b, "  held from snapshot %d on by %s", h.Snapshot, who)
		if h.Hint != "" {
			fmt.Fprintf(&b, ": %s", h.Hint)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// idsText names ids that ascend: a number of them, and from where to where.
func idsText(noun string, ids []int64) string {
	if len(ids) == 1 {
		return fmt.Sprintf("%s %d", noun, ids[0])
	}
	return fmt.Sprintf("%s (%d to %d)", count(int64(len(ids)), noun), ids[0], ids[len(ids)-1])
}

// namesText names things, the first of many.
func namesText(noun string, names []string) string {
	const most = 3
	if len(names) == 1 {
		return noun + " " + names[0]
	}
	if n := len(names) - most; n > 0 {
		return fmt.Sprintf("%ss %s and %d more", noun, strings.Join(names[:most], ", "), n)
	}
	return fmt.Sprintf("%ss %s", noun, strings.Join(names, ", "))
}
