package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

func (a *app) commitAbort() *cobra.Command {
	var yes bool
	version := table.MessageVersion
	cmd := &cobra.Command{
		Use:   "abort DB.TABLE FILE…",
		Short: "Remove the files of commit messages that were never committed",
		Long: `Remove the data, changelog and index files of messages that a writer prepared and
that nobody will commit. Each FILE holds the bytes of one message, as Java's
CommitMessageSerializer or Message.MarshalBinary of this library gives them.

Nothing is removed when a commit of one of them is at work or in doubt, or when the
table has one of their files. Abort nothing that was committed before: what was
compacted since cannot be told from what never landed.`,
		Example: `  tarn commit abort shop.orders checkpoint-17/message-*.bin --yes`,
		Args:    args(2, -1, "a table and files with messages"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			ctx := cmd.Context()
			if cmd.Flags().Changed("version") && version < 1 {
				return usage(errors.New("versions of the serializer begin with 1"))
			}
			messages := make([]table.Message, len(pos)-1)
			for i, file := range pos[1:] {
				const op = "reading commit message"
				data, err := os.ReadFile(file)
				switch {
				case errors.Is(err, os.ErrNotExist):
					return tarnerr.Wrap(tarnerr.NotFound, op, err)
				case err != nil:
					return tarnerr.Wrap(tarnerr.Unavailable, op, err)
				}
				if messages[i], err = table.UnmarshalMessage(version, data); err != nil {
					return tarnerr.Trace(op, err, "file", file)
				}
			}
			t, err := a.load(ctx, pos[0])
			if err != nil {
				return err
			}
			what := count(int64(len(messages)), "message")
			if err := a.confirm(ctx, yes, fmt.Sprintf("Remove the files of %s of %s?", what, t.Name())); err != nil {
				return err
			}
			if err := t.AbortMessages(ctx, messages); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "removed the files of %s\n", what)
			return outErr(err)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask; needed where there is no terminal to ask on")
	cmd.Flags().IntVar(&version, "version", version, "version of the serializer that wrote the messages")
	return cmd
}
