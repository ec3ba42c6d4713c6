package maintain

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// past is a random history of a table, with what each snapshot holds.
type past struct {
	*fixture
	*rand.Rand
	at    map[int64]map[string]int // levels of data files, by the snapshots that had them
	now   map[string]int
	files int
}

// commit writes the next snapshot: files come, go and move up.
func (p *past) commit() {
	id := int64(len(p.at) + 1)
	var words []string
	for name, level := range maps.Clone(p.now) {
		switch spelt := name + suffix(level); {
		case p.IntN(4) > 0:
		case p.IntN(3) == 0 && level < 5:
			words = append(words, "-"+spelt, "+"+name+suffix(level+1))
			p.now[name]++
		default:
			words = append(words, "-"+spelt)
			delete(p.now, name)
		}
	}
	for range p.IntN(3) {
		name := fmt.Sprintf("d%d", p.files)
		p.files++
		p.now[name] = 0
		words = append(words, "+"+name)
	}
	for _, extra := range []string{"merged", "i:", "c:", "s:"} {
		if p.IntN(4) == 0 {
			if strings.HasSuffix(extra, ":") {
				extra += fmt.Sprint(extra[:1], id)
			}
			words = append(words, extra)
		}
	}
	p.snapshot(id, words)
	p.at[id] = maps.Clone(p.now)
}

func suffix(level int) string {
	if level == 0 {
		return ""
	}
	return fmt.Sprint(":", level)
}

// whole holds all that lives to having all its files.
func (p *past) whole() {
	p.Helper()
	have := map[string]bool{}
	for _, f := range p.fs.Paths() {
		have[f] = true
	}
	need := func(by, file string) {
		if !have[file] {
			p.Errorf("%s needs %s (%s)", by, p.names[file], file)
		}
	}
	for _, file := range p.fs.Paths() {
		kind, _, _ := strings.Cut(path.Base(file), "-")
		if dir := path.Base(path.Dir(file)); dir != kind || kind != "snapshot" && kind != "tag" {
			continue
		}
		data, _ := p.fs.Get(file)
		s, err := snapshot.Parse(data)
		p.must(err)
		for _, list := range []*string{&s.BaseManifestList, &s.DeltaManifestList} {
			need(file, place.ManifestFile(*list))
			metas, err := p.manifests.ReadList(p.ctx, *list, nil)
			p.must(err)
			for _, m := range metas {
				need(file, place.ManifestFile(m.FileName))
			}
		}
		for name := range p.at[s.ID] {
			need(file, place.DataFile("", 0, name))
		}
		if s.IndexManifest != nil {
			need(file, place.ManifestFile(*s.IndexManifest))
			entries, err := p.manifests.ReadIndex(p.ctx, *s.IndexManifest)
			p.must(err)
			for _, e := range entries {
				need(file, place.IndexFile(e.FileName))
			}
		}
		if s.Statistics != nil {
			need(file, place.StatisticsFile(*s.Statistics))
		}
		if kind == "snapshot" && s.ChangelogManifestList != nil {
			need(file, place.ManifestFile(*s.ChangelogManifestList))
			metas, err := p.manifests.ReadList(p.ctx, *s.ChangelogManifestList, nil)
			p.must(err)
			entries, err := p.manifests.ReadAll(p.ctx, metas, manifest.EntryFilter{})
			p.must(err)
			for _, e := range entries {
				need(file, place.DataFile("", 0, e.File.FileName))
			}
		}
	}
}

// Snapshots and tags come and go at random, expiries too, some of which fail at one
// call and some of which die. Whatever lives is whole after each, and in the end all
// is gone that only expired snapshots had and no tag ever held.
func TestRandomHistories(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() || raceDetector {
		seeds = 10
	}
	expired, failed := 0, 0
	for seed := range seeds {
		p := &past{fixture: newFixture(t), Rand: rand.New(rand.NewPCG(seed, 7)), at: map[int64]map[string]int{}, now: map[string]int{}}
		tagged := map[string]bool{} // data files that a tag has ever had
		for range 40 {
			p.commit()
			latest := int64(len(p.at))
			if p.IntN(3) == 0 {
				ids, err := p.snapshots.IDs(p.ctx)
				p.must(err)
				id := ids[p.IntN(len(ids))]
				p.copyTo(id, place.TagFile(fmt.Sprint("t", latest)))
				for name := range p.at[id] {
					tagged[name] = true
				}
			}
			tags, err := p.snapshots.Tags().All(p.ctx)
			p.must(err)
			if len(tags) > 0 && p.IntN(4) == 0 {
				p.fs.Remove(place.TagFile(tags[p.IntN(len(tags))].Name))
			}
			if p.IntN(3) > 0 {
				continue
			}
			plan := faultio.None()
			switch p.IntN(3) {
			case 0:
				plan = faultio.FailCall(1+p.IntN(150), []faultio.When{faultio.Before, faultio.After}[p.IntN(2)], 0)
			case 1:
				plan = faultio.Crash(1+p.IntN(150), faultio.After)
			}
			x := p.expirerOn(faultio.New(p.fs, plan), 1, false)
			x.cfg.Retention.Min, x.cfg.Retention.Max = 1+p.IntN(5), 5
			x.cfg.Retention.ChangelogMin, x.cfg.Retention.ChangelogMax = x.cfg.Retention.Min, 5
			x.cfg.Retention.Limit = 1 + p.IntN(10)
			x.mostFiles = 1 + p.IntN(5)
			r, err := x.Run(p.ctx, Request{})
			expired += len(r.Snapshots)
			if err != nil {
				failed++
			}
			p.whole()
		}
		r, err := p.expirer(1, false).Run(p.ctx, Request{})
		p.must(err)
		expired += len(r.Snapshots)
		p.whole()
		for i := range p.files {
			name := fmt.Sprintf("d%d", i)
			_, lives := p.now[name]
			if _, there := p.fs.Get(place.DataFile("", 0, name)); there && !lives && !tagged[name] {
				t.Errorf("%s is left over", name)
			}
		}
		if ids, err := p.snapshots.IDs(p.ctx); err != nil || !slices.Equal(ids, []int64{int64(len(p.at))}) {
			t.Errorf("left are %v, %v", ids, err)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if expired < int(seeds)*20 || failed < int(seeds) {
		t.Errorf("%d snapshots expired, %d expiries failed", expired, failed)
	}
}
