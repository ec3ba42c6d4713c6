package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func (a *app) table() *cobra.Command {
	cmd := group(&cobra.Command{
		Use: "table", Short: "Tables: create, get, list, read, stream, import, compact, expire, upkeep, advise, snapshot, alter, rename, truncate, drop",
	})
	named := []*cobra.Command{a.tableGet(), a.tableRead(), a.tableStream(), a.tableImport(), a.tableCompact(), a.tableExpire(), a.tableUpkeep(), a.tableAdvise(), a.tableSnapshot(), a.tableAlter(), a.tableRename(), a.tableTruncate(), a.tableDrop()}
	for _, c := range named {
		c.ValidArgsFunction = a.completeTable
	}
	cmd.AddCommand(a.tableCreate(), a.tableList())
	cmd.AddCommand(named...)
	return cmd
}

// completeTable offers the names of tables for the first argument, files for others.
func (a *app) completeTable(cmd *cobra.Command, pos []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(pos) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []cobra.Completion
	cat, err := a.catalog(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	dbs, err := cat.ListDatabases(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for _, db := range dbs {
		tables, err := cat.ListTables(cmd.Context(), db)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		for _, t := range tables {
			names = append(names, db+"."+t)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) tableCreate() *cobra.Command {
	var spec schema.Spec
	var options []string
	var ifNotExists bool
	cmd := &cobra.Command{
		Use:   "create DB.TABLE 'NAME TYPE, …'",
		Short: "Create a table",
		Long: `Create a table with the columns given as in SQL: name, type, NOT NULL where no
nulls may be, and a comment in quotes. Types are Paimon's: BOOLEAN, TINYINT,
SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p,s), CHAR(n), VARCHAR(n), STRING,
BINARY(n), VARBINARY(n), BYTES, DATE, TIME(p), TIMESTAMP(p), TIMESTAMP(p) WITH
LOCAL TIME ZONE, ARRAY<t>, MAP<k, v>, MULTISET<t>, ROW<name t, …>, VARIANT,
and VECTOR<t, n> with --option file.format=avro.`,
		Example: `  tarn table create shop.orders 'id BIGINT, status STRING, version BIGINT, day DATE' \
      --primary-key id,day --partition-by day --option bucket=2 --option sequence.field=version`,
		Args: args(2, 2, "a table and its columns"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			id, err := table.ParseIdentifier(pos[0])
			if err != nil {
				return err
			}
			columns, err := types.Parse("ROW<" + pos[1] + ">")
			if err != nil {
				return tarnerr.Wrap(tarnerr.Invalid, "reading columns", err)
			}
			spec.Fields = columns.Fields
			if spec.Options, err = keyValues(options); err != nil {
				return err
			}
			cat, err := a.catalog(cmd.Context())
			if err != nil {
				return err
			}
			return cat.CreateTable(cmd.Context(), id, spec, ifNotExists)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&spec.PrimaryKeys, "primary-key", nil, "columns of the primary key")
	f.StringSliceVar(&spec.PartitionKeys, "partition-by", nil, "columns the table is partitioned by")
	f.StringArrayVar(&options, "option", nil, "table option as key=value, repeatable")
	f.StringVar(&spec.Comment, "comment", "", "comment of the table")
	f.BoolVar(&ifNotExists, "if-not-exists", false, "do nothing when it exists")
	return cmd
}

func keyValues(pairs []string) (map[string]string, error) {
	out := make(map[string]string, len(pairs))
	for _, p := range pairs {
		k, v, ok := strings.Cut(p, "=")
		if !ok || k == "" {
			return nil, usage(fmt.Errorf("option %q is not key=value", p))
		}
		if _, twice := out[k]; twice {
			return nil, usage(fmt.Errorf("option %q given twice", k))
		}
		out[k] = v
	}
	return out, nil
}

func (a *app) tableGet() *cobra.Command {
	return &cobra.Command{
		Use: "get DB.TABLE", Short: "Show a table's schema, options and place", Args: args(1, 1, "a table"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			t, err := a.load(cmd.Context(), pos[0])
			if err != nil {
				return err
			}
			s := t.Schema()
			fmt.Fprintf(a.out, "table     %s\nlocation  %s\nschema    %d\n", t.Name(), t.Location(), s.ID)
			for _, f := range s.Fields {
				mark := ""
				if slices.Contains(s.PrimaryKeys, f.Name) {
					mark += "  primary key"
				}
				if slices.Contains(s.PartitionKeys, f.Name) {
					mark += "  partition"
				}
				if f.Description != nil {
					mark += "  -- " + *f.Description
				}
				fmt.Fprintf(a.out, "  %-20s %s%s\n", f.Name, f.Type, mark)
			}
			keys := make([]string, 0, len(s.Options))
			for k := range s.Options {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				fmt.Fprintf(a.out, "option    %s = %s\n", k, s.Options[k])
			}
			if s.Comment != nil {
				fmt.Fprintf(a.out, "comment   %s\n", *s.Comment)
			}
			return nil
		},
	}
}

func (a *app) tableList() *cobra.Command {
	return &cobra.Command{
		Use: "list [DB]", Short: "List the tables of a database, or of all", Args: args(0, 1, "at most one database"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			cat, err := a.catalog(cmd.Context())
			if err != nil {
				return err
			}
			dbs := pos
			if len(dbs) == 0 {
				if dbs, err = cat.ListDatabases(cmd.Context()); err != nil {
					return err
				}
			}
			for _, db := range dbs {
				names, err := cat.ListTables(cmd.Context(), db)
				if err != nil {
					return err
				}
				for _, n := range names {
					fmt.Fprintf(a.out, "%s.%s\n", db, n)
				}
			}
			return nil
		},
	}
}

func (a *app) tableSnapshot() *cobra.Command {
	var id int64
	cmd := &cobra.Command{
		Use: "snapshot DB.TABLE", Short: "Print a snapshot as JSON, the latest by default", Args: args(1, 1, "a table"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			t, err := a.load(cmd.Context(), pos[0])
			if err != nil {
				return err
			}
			s, err := t.Snapshot(cmd.Context(), id)
			if err != nil {
				return err
			}
			enc := json.NewEncoder(a.out)
			enc.SetIndent("", "  ")
			return enc.Encode(s)
		},
	}
	cmd.Flags().Int64Var(&id, "snapshot", 0, "id of the snapshot")
	return cmd
}

func (a *app) tableAlter() *cobra.Command {
	var alter alterFlags
	cmd := &cobra.Command{
		Use: "alter DB.TABLE", Short: "Change options and columns", Args: args(1, 1, "a table"),
		Long: `Change a table's options and columns, all in one new schema. Rows written before
keep what they have: a column added is null in them, a column renamed keeps its values,
and those of a column whose type changes are converted when they are read.`,
		Example: `  tarn table alter shop.orders --add 'note STRING' --rename status=state --set target-file-size=64mb
  tarn table alter shop.orders --type 'amount DECIMAL(20, 2)'`,
		RunE: func(cmd *cobra.Command, pos []string) error {
			id, err := table.ParseIdentifier(pos[0])
			if err != nil {
				return err
			}
			changes, err := alter.changes()
			if err != nil {
				return err
			}
			cat, err := a.catalog(cmd.Context())
			if err != nil {
				return err
			}
			return cat.AlterTable(cmd.Context(), id, changes...)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&alter.set, "set", nil, "option as key=value, repeatable")
	f.StringArrayVar(&alter.unset, "unset", nil, "option to remove, repeatable")
	f.StringArrayVar(&alter.rename, "rename", nil, "column as old=new, repeatable")
	f.StringArrayVar(&alter.drop, "drop", nil, "column to drop, repeatable")
	f.StringArrayVar(&alter.add, "add", nil, "column to add as 'NAME TYPE', repeatable")
	f.StringArrayVar(&alter.typ, "type", nil, "column and its new type as 'NAME TYPE', repeatable")
	return cmd
}

// alterFlags are the changes that a command line asks for.
type alterFlags struct{ set, unset, rename, drop, add, typ []string }

func (fl *alterFlags) changes() ([]schema.Change, error) {
	options, err := keyValues(fl.set)
	if err != nil {
		return nil, err
	}
	var out []schema.Change
	for k, v := range options {
		out = append(out, schema.SetOption{Key: k, Value: v})
	}
	for _, k := range fl.unset {
		out = append(out, schema.RemoveOption{Key: k})
	}
	for _, r := range fl.rename {
		from, to, ok := strings.Cut(r, "=")
		if !ok {
			return nil, usage(fmt.Errorf("--rename %q is not old=new", r))
		}
		out = append(out, schema.RenameColumn{Path: []string{from}, To: to})
	}
	for _, c := range fl.drop {
		out = append(out, schema.DropColumn{Path: []string{c}})
	}
	added, err := columnTypes(fl.add)
	if err != nil {
		return nil, err
	}
	for _, f := range added {
		out = append(out, schema.AddColumn{Path: []string{f.Name}, Type: f.Type, Comment: f.Description})
	}
	changed, err := columnTypes(fl.typ)
	if err != nil {
		return nil, err
	}
	for _, f := range changed {
		out = append(out, schema.UpdateType{Path: []string{f.Name}, Type: f.Type, KeepNullable: f.Type.Nullable})
	}
	if len(out) == 0 {
		return nil, usage(errors.New("nothing to change: give --set, --unset, --add, --drop, --rename or --type"))
	}
	return out, nil
}

// columnTypes reads columns given as 'NAME TYPE', several in one text too.
func columnTypes(texts []string) (out []types.Field, err error) {
	for _, c := range texts {
		columns, err := types.Parse("ROW<" + c + ">")
		if err != nil {
			return nil, tarnerr.Wrap(tarnerr.Invalid, "reading columns", err)
		}
		out = append(out, columns.Fields...)
	}
	return out, nil
}

func (a *app) tableRename() *cobra.Command {
	return &cobra.Command{
		Use: "rename DB.TABLE DB.NEW", Short: "Rename a table", Args: args(2, 2, "a table and its new name"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			from, err := table.ParseIdentifier(pos[0])
			if err != nil {
				return err
			}
			to, err := table.ParseIdentifier(pos[1])
			if err != nil {
				return err
			}
			cat, err := a.catalog(cmd.Context())
			if err != nil {
				return err
			}
			return cat.RenameTable(cmd.Context(), from, to)
		},
	}
}

func (a *app) tableDrop() *cobra.Command {
	var ifExists, yes bool
	cmd := &cobra.Command{
		Use: "drop DB.TABLE", Short: "Drop a table with all its files", Args: args(1, 1, "a table"),
		Long: `Drop a table with all its files: its rows, its snapshots, all of it. On a terminal
it is asked for first.`,
		RunE: func(cmd *cobra.Command, pos []string) error {
			id, err := table.ParseIdentifier(pos[0])
			if err != nil {
				return err
			}
			cat, err := a.catalog(cmd.Context())
			if err != nil {
				return err
			}
			if t, err := cat.LoadTable(cmd.Context(), id); err == nil || tarnerr.KindOf(err) != tarnerr.NotFound {
				question := func() string { return dropTableQuestion(cmd.Context(), id, t) }
				if err := a.confirmDrop(cmd.Context(), yes, question); err != nil {
					return err
				}
			}
			return cat.DropTable(cmd.Context(), id, ifExists)
		},
	}
	cmd.Flags().BoolVar(&ifExists, "if-exists", false, "do nothing when there is none")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// dropTableQuestion tells of the rows of a table where it can be read; nil for one
// that cannot.
func dropTableQuestion(ctx context.Context, id table.Identifier, t table.Table) string {
	if t != nil {
		if rows, err := physicalRows(ctx, t); err == nil {
			return fmt.Sprintf("Drop %s with %s and all its snapshots?", id, count(rows, "row"))
		}
	}
	return fmt.Sprintf("Drop %s and all its snapshots?", id)
}
