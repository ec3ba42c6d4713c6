package cli

import (
	"fmt"
	"strconv"

	gotable "github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

func (a *app) consumer() *cobra.Command {
	cmd := group(&cobra.Command{
		Use: "consumer", Short: "Named readers of a table's changes: list, reset, delete",
		Long: `A consumer is a reader of a table's changes whose progress is kept in the table, of
'tarn table stream --consumer-id' as of Flink. Expiry keeps the snapshots that some
consumer has not read yet.`,
	})
	for _, c := range []*cobra.Command{a.consumerList(), a.consumerReset(), a.consumerDelete()} {
		c.ValidArgsFunction = a.completeTable
		cmd.AddCommand(c)
	}
	return cmd
}

func (a *app) consumerList() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "list DB.TABLE",
		Short: "List the consumers of a table",
		Long:  "List the consumers of a table and the snapshot that each reads next, as DB.TABLE$consumers has them.",
		Args:  args(1, 1, "a table"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			if err := checkListFormat(format); err != nil {
				return err
			}
			t, err := a.load(cmd.Context(), pos[0])
			if err != nil {
				return err
			}
			found, err := t.Consumers(cmd.Context())
			if err != nil {
				return err
			}
			rows := make([]gotable.Row, len(found))
			for i, c := range found {
				rows[i] = gotable.Row{c.ID, c.Next}
			}
			return printList(a, format, gotable.Row{"consumer_id", "next_snapshot_id"}, rows, found)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "table", "table or jsonl")
	return cmd
}

func (a *app) consumerReset() *cobra.Command {
	return &cobra.Command{
		Use:   "reset DB.TABLE ID SNAPSHOT",
		Short: "Set the snapshot that a consumer reads next",
		Long: `Set the snapshot that a consumer reads next; the consumer is made where there is none.
A stream that is at work under that name sets it again as it goes on: stop it first.
One of Tarn's leaves it alone as long as there is nothing new, one of Java's does not.`,
		Example: `  tarn consumer reset shop.orders mailer 17`,
		Args:    args(3, 3, "a table, a consumer and a snapshot"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			next, err := strconv.ParseInt(pos[2], 10, 64)
			if err != nil {
				return usage(fmt.Errorf("%q is no snapshot id", pos[2]))
			}
			t, err := a.load(cmd.Context(), pos[0])
			if err != nil {
				return err
			}
			if err := t.ResetConsumer(cmd.Context(), pos[1], next); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "consumer %s of %s reads snapshot %d next\n", pos[1], t.Name(), next)
			return outErr(err)
		},
	}
}

func (a *app) consumerDelete() *cobra.Command {
	return &cobra.Command{
		Use:   "delete DB.TABLE ID…",
		Short: "Forget consumers and how far they have come",
		Long: `Forget consumers and how far they have come, so that expiry waits for them no
longer. A stream that is at work under that name makes it again as it goes on: stop it
first.`,
		Args: args(2, -1, "a table and consumers"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			t, err := a.load(cmd.Context(), pos[0])
			if err != nil {
				return err
			}
			for _, id := range pos[1:] {
				if err := t.DeleteConsumer(cmd.Context(), id); err != nil {
					return err
				}
				if _, err := fmt.Fprintf(a.out, "consumer %s of %s is deleted\n", id, t.Name()); err != nil {
					return outErr(err)
				}
			}
			return nil
		},
	}
}
