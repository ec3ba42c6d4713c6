package compact

import (
	"slices"

	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
)

// Increment gathers what compactions did to one bucket since the last commit, of
// which one may have taken in what another put out. The zero value is empty.
// Not safe for concurrent use. Source: paimon-core mergetree/MergeTreeWriter.
type Increment struct {
	before, after, changelog []*datafile.Meta
}

// Add takes a result into account. It returns the files that only lived between
// two compactions: no snapshot will ever name them, and the caller removes them.
func (i *Increment) Add(r Result) (obsolete []*datafile.Meta) {
	for _, f := range r.Before {
		at := slices.IndexFunc(i.after, func(g *datafile.Meta) bool { return g.Identity() == f.Identity() })
		if at < 0 {
			i.before = append(i.before, f)
			continue
		}
		i.after = slices.Delete(i.after, at, at+1)
		// A file that was moved up, or is moved on, is somebody else's too.
		if !named(i.before, f.FileName) && !named(r.After, f.FileName) {
			obsolete = append(obsolete, f)
		}
	}
	i.after = append(i.after, r.After...)
	i.changelog = append(i.changelog, r.Changelog...)
	return obsolete
}

func named(files []*datafile.Meta, name string) bool {
	return slices.ContainsFunc(files, func(f *datafile.Meta) bool { return f.FileName == name })
}

// Empty reports that there is nothing to commit.
func (i *Increment) Empty() bool { return len(i.before)+len(i.after)+len(i.changelog) == 0 }

// Take moves all into a message of the bucket; the increment is empty then.
func (i *Increment) Take(m *commitmsg.Message) {
	m.CompactBefore, m.CompactAfter, m.CompactChangelog = i.before, i.after, i.changelog
	*i = Increment{}
}

// Created are the files that the compactions have written and no snapshot names
// yet: what is left behind when they are given up.
func (i *Increment) Created() []*datafile.Meta {
	out := slices.Clone(i.changelog)
	for _, f := range i.after {
		if !named(i.before, f.FileName) {
			out = append(out, f)
		}
	}
	return out
}
