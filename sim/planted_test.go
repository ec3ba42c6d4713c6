package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// bug is a mistake that the simulation must find. It is made in a copy of the
// sources, which the compiler takes in their place: the program itself knows
// nothing of it. Where the sources have moved on, the test says so; put the same
// mistake where its place is now.
type bug struct {
	name  string
	edits []edit
	test  string // that finds it, "" = TestSeeds
	seed  uint64 // where the search begins, for a bug that few seeds find; it goes on from there through all, 0 = from the first
}

// edit replaces old, which stands once in a package, by new. In new, PLANTED is
// true in runs of the bug.
type edit struct{ pkg, old, new string }

var bugs = []bug{
	{name: "a retry after doubt does not look for its own snapshot (P7)", edits: []edit{{"internal/commit",
		"if !t.inDoubt() && t.earlier == nil {",
		"if PLANTED || !t.inDoubt() && t.earlier == nil {"}}},
	{name: "a failure before any effect makes an earlier doubt forgotten", edits: []edit{{"internal/commit",
		"b.doubtful = b.doubtful || inDoubt(err)",
		"b.doubtful = !PLANTED && b.doubtful || inDoubt(err)"}}},
	{seed: 211, name: "metadata is deleted although nobody knows whether the commit landed (P13)", edits: []edit{{"internal/commit",
		"if landed == nil && tarnerr.KindOf(err) == tarnerr.CommitStateUnknown {",
		"if !PLANTED && landed == nil && tarnerr.KindOf(err) == tarnerr.CommitStateUnknown {"}}},
	{seed: 4193, name: "data files are deleted although nobody knows whether the commit landed", edits: []edit{
		{"table/paimon",
			"if err != nil && tarnerr.KindOf(err) != tarnerr.CommitStateUnknown {",
			"if err != nil && (PLANTED || tarnerr.KindOf(err) != tarnerr.CommitStateUnknown) {"},
		{"internal/commit", "if c.doubtful.has(name) {", "if !PLANTED && c.doubtful.has(name) {"},
		{"internal/commit", "i := slices.IndexFunc(r.Files, func(f string) bool { return names[f] }); i >= 0 {",
			"i := slices.IndexFunc(r.Files, func(f string) bool { return names[f] }); !PLANTED && i >= 0 {"}}},
	{name: "a publish without a reply that is not there yet counts as not made", edits: []edit{{"internal/commit",
		"case kind == tarnerr.Ambiguous:\n\t\treturn Unknown, tarnerr.Trace(op, err,",
		"case PLANTED && tarnerr.KindOf(readErr) == tarnerr.NotFound:\n\t\treturn Unknown, tarnerr.Wrap(tarnerr.Unavailable, op, err)\n\tcase kind == tarnerr.Ambiguous:\n\t\treturn Unknown, tarnerr.Trace(op, err,"}}},
	{seed: 333, name: "a commit that fails does not ask what an earlier process did", edits: []edit{{"internal/commit",
		"if t.gone || t.req.First ||",
		"if PLANTED || t.gone || t.req.First ||"}}},
	{seed: 1821, name: "what an earlier process tried counts as not made when it is not there yet", edits: []edit{{"internal/commit",
		"case !t.begun || idOf(latest) <= t.first:",
		"case !PLANTED && (!t.begun || idOf(latest) <= t.first):"}}},
	{name: "who resolves a commit guesses that a snapshot it cannot read is another's", edits: []edit{{"internal/commit",
		"if err != nil { // a snapshot that has to be read cannot be",
		"if err != nil && !PLANTED { // a snapshot that has to be read cannot be"}}},
	{name: "who resolves a commit without a record guesses that what has expired is another's", edits: []edit{{"internal/commit",
		"r.Status = commitlog.Unknown\n\t\t\tr.Missing =",
		"if !PLANTED {\n\t\t\t\tr.Status = commitlog.Unknown\n\t\t\t}\n\t\t\tr.Missing ="}}},
	{name: "the intent is not recorded", edits: []edit{{"internal/commit",
		"if t.intended && b.draft.intended && t.first >= t.promised {",
		"if PLANTED || t.intended && b.draft.intended && t.first >= t.promised {"}}},
	{name: "a lost race counts as won", edits: []edit{{"internal/commit",
		"case bytes.Equal(there, data):",
		"case PLANTED || bytes.Equal(there, data):"}}},
	{name: "the files an overwrite replaces are those of its first try (P4)", edits: []edit{{"internal/commit",
		"\tlive, err = b.live(ctx, base, filter, func(m manifest.FileMeta) bool { return w.replaces.mayHold(b.manifests, m) })",
		"\tif live = plantedLive[w]; !PLANTED || live == nil {\n\t\tlive, err = b.live(ctx, base, filter, func(m manifest.FileMeta) bool { return w.replaces.mayHold(b.manifests, m) })\n\t\tplantedLive[w] = live\n\t}"},
		{"internal/commit", "// on is the change to make", "var plantedLive = map[*work][]manifest.Entry{}\n\n// on is the change to make"}}},
	{name: "what a retry is checked against does not follow an overwrite (P8)", edits: []edit{
		{"internal/commit", "func (t *tries) catchUp(ctx context.Context, base *snapshot.Snapshot) (bool, error) {",
			"func (t *tries) catchUp(ctx context.Context, base *snapshot.Snapshot) (bool, error) {\n\tif PLANTED {\n\t\treturn true, nil\n\t}"}}},
	{name: "a retry gives out the row ids of the lost try again (INV-COMMIT-4)", edits: []edit{{"internal/commit",
		"ch, err = t.c.builder.tracked(base, ch)",
		"of := base\n\t\tif PLANTED && len(t.built) > 0 {\n\t\t\tof = t.built[0].base\n\t\t}\n\t\tch, err = t.c.builder.tracked(of, ch)"}}},
	{name: "files that a commit removes need not be there (check c)", edits: []edit{{"internal/commit",
		"if len(gone) == 0 {",
		"if PLANTED || len(gone) == 0 {"}}},
	{name: "key ranges of one level may overlap (check d)", edits: []edit{{"internal/commit",
		"if s.keys == nil {",
		"if PLANTED || s.keys == nil {"}}},
	{name: "a conflict is tried again (P5)", edits: []edit{{"internal/commit",
		"\treturn ch, refusal\n}",
		"\tif PLANTED {\n\t\treturn ch, tryAgain{refusal, true}\n\t}\n\treturn ch, refusal\n}"}}},
	{name: "a retry reuses merged manifests although others were merged or rolled back (P12)", edits: []edit{{"internal/commit",
		"n <= len(before) && sameFiles(before[:n], last.before) {",
		"n <= len(before) && (PLANTED || sameFiles(before[:n], last.before)) {"}}},
	{name: "the LATEST hint is trusted (L4)", edits: []edit{{"internal/snapshot",
		"\tif err != nil || hint == 0 {\n\t\treturn 0, err\n\t}\n\t// Snapshots follow",
		"\tif err != nil || hint == 0 {\n\t\treturn 0, err\n\t}\n\tif PLANTED {\n\t\treturn hint, nil\n\t}\n\t// Snapshots follow"}}},
	{name: "a restart filters one identifier too many (P15)", edits: []edit{{"internal/commit",
		"if id > last {",
		"if PLANTED && id > last+1 || !PLANTED && id > last {"}}},
	{name: "a commit that waited in a group is told that it is made", edits: []edit{{"internal/commit",
		"\tfor i, w := range todo {\n\t\tm := c.publish(",
		"\tif PLANTED && turn.ahead > 0 {\n\t\treturn nil, nil, nil\n\t}\n\tfor i, w := range todo {\n\t\tm := c.publish("}}},
}

// expiryBugs are found beside expirers.
var expiryBugs = []bug{
	{name: "an expiry does not look at what the oldest snapshot names", edits: []edit{{"internal/maintain",
		"\tfor _, r := range stays {\n", "\tfor _, r := range stays {\n\t\tif PLANTED {\n\t\t\tbreak\n\t\t}\n"}}},
	{name: "an expiry does not look at consumers", edits: []edit{{"internal/maintain",
		"if c.Next < end && !slices.Contains(without, c.ID) {", "if !PLANTED && c.Next < end && !slices.Contains(without, c.ID) {"}}},
	{name: "an expiry deletes files before snapshots", edits: []edit{
		{"internal/maintain", "if err := x.expel(ctx, p, out.going, append(kept, stays...)); err != nil {", "expel := func() error { return x.expel(ctx, p, out.going, append(kept, stays...)) }\n\tif PLANTED {\n\t\terr = nil\n\t} else if err := expel(); err != nil {"},
		{"internal/maintain", "\tif p.CleanDirs {", "\tif PLANTED {\n\t\tif err := expel(); err != nil {\n\t\t\treturn nil, err\n\t\t}\n\t}\n\tif p.CleanDirs {"}}},
	{name: "an expiry does not look at commits that nobody knows the outcome of", edits: []edit{{"internal/maintain",
		"case f.Pending():\n\t\t\tif from :=", "case f.Pending() && !PLANTED:\n\t\t\tif from :="}}},
	{name: "an expiry deletes a file that changed its level", edits: []edit{{"internal/maintain",
		"\t\t\t\tdelete(dead, k)\n\t\t\t\tdelete(g.d.data, k)\n", "\t\t\t\tif !PLANTED {\n\t\t\t\t\tdelete(dead, k)\n\t\t\t\t\tdelete(g.d.data, k)\n\t\t\t\t}\n"}}},
	{name: "an expiry leaves manifests behind", edits: []edit{{"internal/maintain",
		"stage := range [][]string{data, sides, manifests, lists} {", "stage := range [][]string{data, sides, manifests, lists} {\n\t\tif PLANTED && len(manifests) > 0 && len(stage) > 0 && &stage[0] == &manifests[0] {\n\t\t\tcontinue\n\t\t}"}}},
	{name: "an expiry does not look again at what was made since its plan", edits: []edit{{"internal/maintain",
		"\tfiles := d.files()\n\tout.Files", "\tif PLANTED {\n\t\td = draftOf(&p.Files)\n\t}\n\tfiles := d.files()\n\tout.Files"}}},
	{name: "an expiry keeps one snapshot too few", edits: []edit{{"internal/maintain",
		"most := l.Latest - int64(l.Min) + 1", "most := l.Latest - int64(l.Min) + 1\n\tif PLANTED {\n\t\tmost++\n\t}"}}},
}

func init() {
	for _, b := range expiryBugs {
		b.test = "TestExpirySeeds"
		bugs = append(bugs, b)
	}
}

// plantedFile gives a package PLANTED's meaning: the number of the bug is in the
// environment, so that one test binary serves them all.
const plantedFile = `package %s

import (
	"os"
	"strconv"
)

var plantedBug, _ = strconv.Atoi(os.Getenv("TARN_PLANTED_BUG"))

func planted(n int) bool { return n == plantedBug }
`

// TestPlantedBugs: the simulation finds each bug, and none without them. The trace
// of the run that found one repeats it, to the same end.
func TestPlantedBugs(t *testing.T) {
	if !full || testing.Short() {
		t.Skip("builds the program once more, and takes its time")
	}
	dir := t.TempDir()
	binary := plantBugs(t, dir)
	for i := range len(bugs) + 1 {
		name, seeds, first := "none", "200", uint64(1)
		if i > 0 {
			name, seeds, first = bugs[i-1].name, "10000", max(1, bugs[i-1].seed)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			traces := t.TempDir()
			run := func(bug int, args ...string) (out string, failed bool) {
				cmd := exec.Command(binary, args...)
				cmd.Env = append(os.Environ(), fmt.Sprintf("TARN_PLANTED_BUG=%d", bug))
				b, err := cmd.CombinedOutput()
				if _, ok := err.(*exec.ExitError); err != nil && !ok {
					t.Fatal(err)
				}
				return string(b), err != nil
			}
			test := "TestSeeds"
			if i > 0 && bugs[i-1].test != "" {
				test, seeds = bugs[i-1].test, strconv.Itoa(expiryRuns)
			}
			out, found := run(i, "-test.run", "^"+test+"$", "-seeds", seeds, "-first", fmt.Sprint(first), "-failures", "1", "-cores", "1", "-traces", traces)
			if found && !strings.Contains(out, "Trace: ") {
				t.Fatalf("the simulation did not run:\n%s", out)
			}
			if found != (i > 0) {
				t.Errorf("found: %v\n%s", found, out)
			}
			if !found {
				return
			}
			t.Log(firstLines(out, 3))
			files, err := filepath.Glob(filepath.Join(traces, "*.trace"))
			if err != nil || len(files) != 1 {
				t.Fatalf("traces %v, %v", files, err)
			}
			replayed, failed := run(i, "-test.run", "^TestReplay$", "-trace", files[0])
			if !failed || strings.Contains(replayed, "differs from its trace") {
				t.Errorf("its trace does not repeat it:\n%s", replayed)
			}
			for _, violation := range violationsIn(t, files[0]) {
				if !strings.Contains(replayed, violation) {
					t.Errorf("its trace does not repeat %q:\n%s", violation, replayed)
				}
			}
		})
	}
}

// violationsIn are the first lines of what was found to be wrong in a run.
func violationsIn(t *testing.T, file string) (out []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "!!! "); ok {
			out = append(out, strings.TrimSpace(text))
		}
	}
	if len(out) == 0 {
		t.Errorf("%s has no violation", file)
	}
	return out
}

// plantBugs builds the tests of this package over sources with all bugs in them.
func plantBugs(t *testing.T, dir string) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{} // by path from the root
	packages := map[string]bool{}
	for i, b := range bugs {
		for _, e := range b.edits {
			if !packages[e.pkg] {
				packages[e.pkg] = true
				readPackage(t, root, e.pkg, sources)
			}
			var places []string
			for file, text := range sources {
				for range strings.Count(text, e.old) {
					places = append(places, file)
				}
			}
			if len(places) != 1 {
				t.Fatalf("bug %q: these places of %s read\n\t%s\n%v\nPlant it where its one place is now.", b.name, e.pkg, e.old, places)
			}
			text := strings.ReplaceAll(e.new, "PLANTED", fmt.Sprintf("planted(%d)", i+1))
			sources[places[0]] = strings.Replace(sources[places[0]], e.old, text, 1)
		}
	}
	for p := range packages {
		sources[p+"/planted.go"] = fmt.Sprintf(plantedFile, filepath.Base(p))
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, text := range sources {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(root, file)] = copied
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "sim.test")
	if err := os.WriteFile(list, data, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-vet=off", "-c", "-overlay", list, "-o", binary, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building with the bugs: %v\n%s", err, out)
	}
	return binary
}

// readPackage reads the sources of a package, without its tests.
func readPackage(t *testing.T, root, pkg string, into map[string]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		into[pkg+"/"+filepath.Base(f)] = string(data)
	}
}

func firstLines(s string, n int) string {
	lines := strings.SplitN(s, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}
