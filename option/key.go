package option

import (
	"strings"
)

// Kind is the type of an option's value.
type Kind uint8

// The kinds, parsed as Java parses them.
const (
	String   Kind = iota
	Bool          // true, false, in any case
	Int           // 32 bits
	Long          // 64 bits
	Float         // 32 bits
	Double        // 64 bits
	Duration      // "10 ms", "1 h", "5 min"; without unit milliseconds
	Size          // "128 mb", "64 kb"; without unit bytes; steps of 1024
	Enum          // one of Key.Values, in any case
	Map           // "k1:v1,k2:v2"
)

var kindNames = [...]string{"string", "boolean", "int", "long", "float", "double", "duration", "memory size", "enum", "map"}

// String is the kind's name for people.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "?"
}

// State is what this version makes of an option.
type State uint8

const (
	// Honoured options do what Java documents.
	Honoured State = iota
	// Harmless options are kept; ignoring them changes neither what a read
	// returns nor what other readers and writers of the table see.
	Harmless
	// RefusesWrites options refuse writes while they have a value this version
	// does not honour; reads stay right.
	RefusesWrites
	// RefusesReads options refuse reads and writes while they have a value this
	// version does not honour.
	RefusesReads
)

var stateNames = [...]string{"honoured", "harmless", "refuses writes", "refuses reads"}

// String is the state as docs/options.md shows it.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "?"
}

// Key is one option known to Paimon 1.4.2.
type Key struct {
	Name string
	Kind Kind
	// Default in text form; Unset when Java has none.
	Default string
	// Values of an Enum.
	Values []string
	// Fallbacks are older names, read when Name is not set.
	Fallbacks []string
	// Immutable options cannot change once the table holds data.
	Immutable bool
	State     State
	// Accept lists the values, beside the default, that a key of a refusing
	// state allows.
	Accept []string
	// Note says in a line what is honoured, or why ignoring it is harmless.
	Note string
}

// Unset is the Default of keys without one.
const Unset = "\x00"

// HasDefault reports a key with a default value.
func (k *Key) HasDefault() bool { return k.Default != Unset }

// Get is the option's text in options, under its name or an older one; else
// its default. ok is false when there is neither.
func (k *Key) Get(options map[string]string) (value string, ok bool) {
	if v, _, set := k.explicit(options); set {
		return v, true
	}
	if k.HasDefault() {
		return k.Default, true
	}
	return "", false
}

// explicit is the value set in options and the name it was found under.
func (k *Key) explicit(options map[string]string) (value, under string, ok bool) {
	if v, set := options[k.Name]; set {
		return v, k.Name, true
	}
	for _, f := range k.Fallbacks {
		if v, set := options[f]; set {
			return v, f, true
		}
	}
	return "", "", false
}

// accepts reports a value that a refusing key allows.
func (k *Key) accepts(value string) bool {
	value = strings.TrimSpace(value)
	if k.HasDefault() && strings.EqualFold(value, k.Default) {
		return true
	}
	for _, a := range k.Accept {
		if strings.EqualFold(value, a) {
			return true
		}
	}
	return !k.HasDefault() && value == ""
}

// byName holds every key under its name and its older names.
var byName = func() map[string]*Key {
	m := map[string]*Key{}
	for _, group := range groups {
		for i := range group.keys {
			k := &group.keys[i]
			m[k.Name] = k
			for _, f := range k.Fallbacks {
				if _, taken := m[f]; !taken {
					m[f] = k
				}
			}
		}
	}
	return m
}()

type group struct {
	title string
	keys  []Key
}

// groups is the whole table, in the order docs/options.md prints it.
var groups = []group{
	{"Keys, buckets, partitions", bucketKeys},
	{"Merge engine, sequence, changelog", mergeKeys},
	{"Data files", fileKeys},
	{"Writing and memory", writeKeys},
	{"Metadata and commit", commitKeys},
	{"Reading", scanKeys},
	{"Compaction and lookup", compactKeys},
	{"Snapshots, tags, consumers, expiry", retainKeys},
	{"Indexes, deletion vectors, row tracking, blobs", indexKeys},
	{"Schema changes, engines, other", otherKeys},
}

// Lookup finds a key by its name or an older name of it.
func Lookup(name string) (Key, bool) {
	k, ok := byName[name]
	if !ok {
		return Key{}, false
	}
	return *k, true
}

// Keys yields a copy of all keys in the order of docs/options.md.
func Keys() []Key {
	var out []Key
	for _, g := range groups {
		out = append(out, g.keys...)
	}
	return out
}
