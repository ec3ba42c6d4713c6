package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/tarnlake/tarn/tarnerr"
)

// shellCommand is a command of the shell that begins with a backslash.
type shellCommand struct {
	name, args string
	what       string
	run        func(s *sqlShell, ctx context.Context, arg string) error
}

func shellCommands() []shellCommand {
	return []shellCommand{
		{`\d`, "[TABLE]", "list the tables, or describe one: columns, keys, partitions, options", (*sqlShell).describe},
		{`\dt`, "[DATABASE]", "list the tables", (*sqlShell).listTables},
		{`\dn`, "", "list the databases", (*sqlShell).listDatabases},
		{`\l`, "", "list the databases", (*sqlShell).listDatabases},
		{`\c`, "DATABASE", "use a database, as USE does", (*sqlShell).use},
		{`\i`, "FILE", "run the SQL in a file", (*sqlShell).include},
		{`\o`, "[FORMAT]", "print rows as table, jsonl or csv", (*sqlShell).setFormat},
		{`\x`, "[on|off|auto]", "print the columns one below the other; auto: where they do not fit", (*sqlShell).setLayout},
		{`\timing`, "[on|off]", "tell how long each statement took", (*sqlShell).setTiming},
		{`\pager`, "[on|off|COMMAND]", "show rows through a pager ($PAGER, else less)", (*sqlShell).setPager},
		{`\h`, "[STATEMENT]", "show how a statement is written", (*sqlShell).showSyntax},
		{`\?`, "", "show this list", (*sqlShell).showCommands},
		{`\q`, "", "leave (Ctrl-D does, too)", func(*sqlShell, context.Context, string) error { return errLeave }},
	}
}

// command carries out a line that begins with a backslash.
func (s *sqlShell) command(ctx context.Context, line string) error {
	name, arg := line, ""
	if i := strings.IndexFunc(line, unicode.IsSpace); i >= 0 {
		name, arg = line[:i], strings.TrimSpace(line[i:])
	}
	arg = strings.TrimSpace(strings.TrimSuffix(arg, ";"))
	name = strings.TrimSuffix(name, ";")
	for _, c := range shellCommands() {
		if c.name != name {
			continue
		}
		if arg != "" && c.args == "" {
			return tarnerr.New(tarnerr.Invalid, "reading command", name+" takes nothing", "found", arg)
		}
		if arg == "" && c.args != "" && !strings.HasPrefix(c.args, "[") {
			return tarnerr.New(tarnerr.Invalid, "reading command", name+" wants "+c.args)
		}
		return c.run(s, ctx, arg)
	}
	return tarnerr.New(tarnerr.Invalid, "reading command", "no such command", "command", name).WithHint(`\? lists them.`)
}

func (s *sqlShell) showCommands(context.Context, string) error {
	fmt.Fprintln(s.errOut, "Statements end with a semicolon and may have several lines. Beside them:")
	for _, c := range shellCommands() {
		fmt.Fprintf(s.errOut, "  %-26s %s\n", c.name+" "+c.args, c.what)
	}
	_, err := fmt.Fprintln(s.errOut, `Tab completes, Ctrl-R searches what was typed before, Ctrl-C stops a statement.
Lines that begin with a space are not remembered.`)
	return outErr(err)
}

func (s *sqlShell) use(ctx context.Context, name string) error {
	path, err := writtenName(name)
	if err != nil {
		return err
	}
	return s.run(ctx, "USE "+path)
}

// include runs the SQL in a file. Errors show its lines.
func (s *sqlShell) include(ctx context.Context, name string) error {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			name = filepath.Join(home, rest)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return fileErr("reading SQL", err)
	}
	return s.run(ctx, string(text))
}

func (s *sqlShell) setFormat(_ context.Context, format string) error {
	switch format {
	case "":
	case "table", "jsonl", "csv":
		s.format = format
	default:
		return shellFormat(format)
	}
	_, err := fmt.Fprintf(s.errOut, "rows come as %s\n", s.format)
	return outErr(err)
}

// shellFormat refuses a format that a terminal cannot show.
func shellFormat(format string) error {
	if format == "parquet" || format == "arrow" {
		return tarnerr.New(tarnerr.Invalid, "choosing output", "a terminal shows no such files", "output", format).
			WithHint("Run one statement with -c or -f, and send standard output to a file.")
	}
	return tarnerr.New(tarnerr.Invalid, "choosing output", "no such output format", "output", format).
		WithHint("In the shell there are table, jsonl and csv.")
}

func (s *sqlShell) setLayout(_ context.Context, arg string) error {
	switch arg {
	case layoutOn, layoutOff, layoutAuto:
		s.layout = arg
	case "":
		if s.layout == layoutOn {
			s.layout = layoutAuto
		} else {
			s.layout = layoutOn
		}
	default:
		return notOneOf(`\x`, "on, off or auto", arg)
	}
	_, err := fmt.Fprintln(s.errOut, map[string]string{
		layoutOn: "columns come one below the other", layoutOff: "columns come side by side",
		layoutAuto: "columns come one below the other where they do not fit side by side",
	}[s.layout])
	return outErr(err)
}

func notOneOf(command, want, got string) error {
	return tarnerr.New(tarnerr.Invalid, "reading command", command+" wants "+want, "found", got)
}

func (s *sqlShell) setTiming(_ context.Context, arg string) error {
	switch arg {
	case "":
		s.timing = !s.timing
	case "on", "off":
		s.timing = arg == "on"
	default:
		return notOneOf(`\timing`, "on or off", arg)
	}
	_, err := fmt.Fprintln(s.errOut, "timing is "+onOff(s.timing))
	return outErr(err)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (s *sqlShell) setPager(_ context.Context, arg string) error {
	switch arg {
	case "":
		if s.page == nil {
			s.page = pageThrough(s.pager)
		} else {
			s.page = nil
		}
	case "on":
		s.page = pageThrough(s.pager)
	case "off":
		s.page = nil
	default:
		s.pager, s.page = arg, pageThrough(arg)
	}
	said := "pager is " + onOff(s.page != nil)
	if s.page != nil {
		said += ": " + s.pager
	}
	_, err := fmt.Fprintln(s.errOut, said)
	return outErr(err)
}
