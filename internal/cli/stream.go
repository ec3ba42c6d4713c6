package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

func (a *app) tableStream() *cobra.Command {
	var opts table.FollowOptions
	var from, where string
	var limit int64
	var options []string
	cmd := &cobra.Command{
		Use:   "stream DB.TABLE",
		Short: "Print a table's changes as they are committed",
		Long: `Print what each snapshot changed, one JSON line per row: _snapshot, then _kind
(+I, -U, +U, -D), then the columns. It goes on until --to, --limit or an interrupt,
and then says on standard error where to go on.

--from says where to begin:
  7            with the changes of snapshot 7, as an earlier stream said
  7-full       with the rows of snapshot 7, then what came after
  earliest     with the oldest changes there are
  latest       with what is committed from now on
  latest-full  with the rows of the latest snapshot (default, unless the table's
               option scan.mode says otherwise)
  2024-01-31T12:00:00Z   with the first snapshot of that time or later

--consumer-id names the reader, and keeps in the table how far it has come, as Flink
does: started again, the stream goes on there, whatever --from says but the number of
a snapshot. Rows may come again after a crash, none is left out. Expiry keeps what a
consumer has not read: delete one that is no longer needed (tarn consumer delete), or
set the table's option consumer.expiration-time. The rows of a whole table (latest-full,
7-full) are noted when all are printed, and nothing is kept before.

Changes are those of the table's changelog (option changelog-producer), or the rows
written where it has none.`,
		Example: `  tarn table stream shop.orders --from earliest --to 20 --columns id,status
  tarn table stream shop.orders --from 21 --where "status = 'PAID'"
  tarn table stream shop.orders --consumer-id mailer --from earliest`,
		Args: args(1, 1, "a table"),
		RunE: func(cmd *cobra.Command, pos []string) (err error) {
			if cmd.Flags().Changed("columns") && len(opts.Columns) == 0 {
				return usage(errors.New("--columns names no column"))
			}
			if cmd.Flags().Changed("to") && opts.To < 1 {
				return usage(fmt.Errorf("--to %d: ids begin at 1", opts.To))
			}
			if limit < 0 {
				return usage(fmt.Errorf("--limit %d is negative", limit))
			}
			if opts.From, err = parseStart(from); err != nil {
				return err
			}
			if opts.Options, err = keyValues(options); err != nil {
				return err
			}
			if where != "" {
				if opts.Where, err = sqltext.ParseWhere(where); err != nil {
					return err
				}
			}
			t, err := a.load(cmd.Context(), pos[0])
			if err != nil {
				return err
			}
			return a.stream(cmd.Context(), t, opts, limit)
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "where to begin")
	f.StringVar(&opts.Consumer, "consumer-id", "", "name of the reader, whose progress is kept (default: the option consumer-id)")
	f.Int64Var(&opts.To, "to", 0, "last snapshot to print (0: go on)")
	f.StringSliceVar(&opts.Columns, "columns", nil, "columns to print, in this order")
	f.StringVar(&where, "where", "", "rows to print")
	f.Int64Var(&limit, "limit", 0, "at most so many rows (0: all)")
	f.DurationVar(&opts.Interval, "interval", 0, "time between two looks for a snapshot (default: the option continuous.discovery-interval)")
	f.StringArrayVar(&options, "option", nil, "option of this read as key=value, repeatable")
	return cmd
}

// parseStart reads the value of --from.
func parseStart(text string) (table.Start, error) {
	switch text {
	case "":
		return table.Start{}, nil
	case "earliest":
		return table.Start{Mode: table.StartEarliest}, nil
	case "latest":
		return table.Start{Mode: table.StartLatest}, nil
	case "latest-full":
		return table.Start{Mode: table.StartLatestFull}, nil
	}
	number, full := strings.CutSuffix(text, "-full")
	if id, err := strconv.ParseInt(number, 10, 64); err == nil && id > 0 {
		mode := table.StartAt
		if full {
			mode = table.StartFull
		}
		return table.Start{Mode: mode, Snapshot: id}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return table.Start{Mode: table.StartTime, Time: at}, nil
	}
	return table.Start{}, usage(fmt.Errorf("--from %q is no start", text))
}

// stream prints changes until their end, and then where to go on.
func (a *app) stream(ctx context.Context, t table.Table, opts table.FollowOptions, limit int64) error {
	fields, err := outputFields(t.Name(), t.Schema(), opts.Columns)
	if err != nil {
		return err
	}
	follow, err := t.Follow(ctx, opts)
	if err != nil {
		return err
	}
	defer follow.Close()
	p := &printer{follow: follow, out: rowtext.NewStream(a.out, fields), left: limit, limited: limit > 0}
	err = p.run(ctx)
	if flushErr := p.out.Flush(); err == nil {
		err = flushErr
	}
	if err != nil && ctx.Err() == nil {
		return err
	}
	if p.position > 0 {
		fmt.Fprintln(a.errOut, p.goOn(opts.Consumer))
	}
	return nil
}

// printer prints changes.
type printer struct {
	follow  table.Follower
	out     *rowtext.Stream
	left    int64 // rows to print where limited
	limited bool
	// position is the snapshot to go on with: the one whose rows are not all printed.
	position int64
	full     bool // those rows are the table's, not its changes
}

// goOn says where to go on.
func (p *printer) goOn(consumer string) string {
	from := strconv.FormatInt(p.position, 10)
	if p.full {
		from += "-full"
	}
	switch noted := p.follow.Noted(); {
	case consumer == "":
		return "go on with --from " + from
	case noted == 0:
		return fmt.Sprintf("nothing is noted for consumer %s: go on with --from %s", consumer, from)
	case noted != p.position || p.full:
		return fmt.Sprintf("consumer %s goes on with snapshot %d, this stream with --from %s", consumer, noted, from)
	default:
		return fmt.Sprintf("consumer %s goes on with snapshot %d", consumer, noted)
	}
}

func (p *printer) run(ctx context.Context) error {
	for {
		c, err := p.follow.Next(ctx)
		p.position = max(p.position, p.follow.Position())
		if err == io.EOF {
			return p.follow.Acknowledge(ctx)
		}
		if err != nil {
			return err
		}
		p.position, p.full = c.Snapshot.ID, c.Full
		p.out.Begin(c.Snapshot.ID)
		done, err := p.print(ctx, c.Rows)
		if err != nil || done {
			return err
		}
		if err := p.out.Flush(); err != nil {
			return err
		}
		p.position, p.full = p.follow.Position(), false
		// What is printed is done with, also where an interrupt has come meanwhile.
		if err := p.follow.Acknowledge(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
}

// print prints the rows of one snapshot; done when the limit is reached.
func (p *printer) print(ctx context.Context, rows table.Reader) (done bool, err error) {
	for {
		rec, err := rows.Next(ctx)
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if p.limited && rec.NumRows() >= p.left {
			rec = rec.NewSlice(0, p.left)
			defer rec.Release()
			return true, tarnerr.Trace("printing changes", p.out.Write(rec))
		}
		p.left -= rec.NumRows()
		if err := p.out.Write(rec); err != nil {
			return false, err
		}
	}
}
