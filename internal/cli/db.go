package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) db() *cobra.Command {
	cmd := group(&cobra.Command{Use: "db", Short: "Databases: create, list, drop, compact, expire, upkeep, advise"})
	var ifNotExists, ifExists, cascade, yes bool
	create := &cobra.Command{
		Use: "create NAME", Short: "Create a database", Args: args(1, 1, "the name of a database"),
		RunE: func(cmd *cobra.Command, names []string) error {
			cat, err := a.catalog(cmd.Context())
			if err != nil {
				return err
			}
			return cat.CreateDatabase(cmd.Context(), names[0], ifNotExists)
		},
	}
	create.Flags().BoolVar(&ifNotExists, "if-not-exists", false, "do nothing when it exists")
	list := &cobra.Command{
		Use: "list", Short: "List the databases", Args: args(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cat, err := a.catalog(cmd.Context())
			if err != nil {
				return err
			}
			names, err := cat.ListDatabases(cmd.Context())
			for _, n := range names {
				fmt.Fprintln(a.out, n)
			}
			return err
		},
	}
	drop := &cobra.Command{
		Use: "drop NAME", Short: "Drop a database", Args: args(1, 1, "the name of a database"),
		RunE: func(cmd *cobra.Command, names []string) error {
			cat, err := a.catalog(cmd.Context())
			if err != nil {
				return err
			}
			if tables, err := cat.ListTables(cmd.Context(), names[0]); cascade && err == nil && len(tables) > 0 {
				question := func() string { return dropDatabaseQuestion(names[0], tables) }
				if err := a.confirmDrop(cmd.Context(), yes, question); err != nil {
					return err
				}
			}
			return cat.DropDatabase(cmd.Context(), names[0], ifExists, cascade)
		},
	}
	drop.Flags().BoolVar(&ifExists, "if-exists", false, "do nothing when there is none")
	drop.Flags().BoolVar(&cascade, "cascade", false, "drop its tables, too; on a terminal it is asked for first")
	drop.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.AddCommand(create, list, drop, a.dbCompact(), a.dbExpire(), a.dbUpkeep(), a.dbAdvise())
	return cmd
}

// dropDatabaseQuestion names the tables that go with a database.
func dropDatabaseQuestion(name string, tables []string) string {
	const most = 10
	shown, more := tables, ""
	if len(tables) > most {
		shown, more = tables[:most], fmt.Sprintf(" and %d more", len(tables)-most)
	}
	return fmt.Sprintf("Drop %s with %s: %s%s?", name, count(int64(len(tables)), "table"), strings.Join(shown, ", "), more)
}
