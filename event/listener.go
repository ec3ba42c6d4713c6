package event

// Listener holds what someone wants to be told; any field may be nil. Functions
// are called on the goroutine that does the work, side by side, after the fact
// and with no lock held: they must be safe for concurrent use and quick, and
// must not call back into what they are told about.
//
// A nil *Listener hears nothing.
type Listener struct {
	CommitBegin       func(CommitBegin)
	AttemptEnd        func(AttemptEnd)
	CommitConflict    func(CommitConflict)
	CommitEnd         func(CommitEnd)
	SnapshotDisplaced func(SnapshotDisplaced)
	FlushEnd          func(FlushEnd)
	SpillEnd          func(SpillEnd)
	CompactWait       func(CompactWait)
	CompactEnd        func(CompactEnd)
	ScanPlanned       func(ScanPlanned)
	StorageCall       func(StorageCall)
	Warning           func(Warning)
}

// Info is one of the typed infos of this package.
type Info interface {
	tell(*Listener)
}

// Emit tells l about info.
func (l *Listener) Emit(info Info) {
	if l != nil {
		info.tell(l)
	}
}

// Tee returns a listener that tells each of ls in turn.
func Tee(ls ...*Listener) *Listener {
	return &Listener{
		CommitBegin:       func(i CommitBegin) { all(ls, i) },
		AttemptEnd:        func(i AttemptEnd) { all(ls, i) },
		CommitConflict:    func(i CommitConflict) { all(ls, i) },
		CommitEnd:         func(i CommitEnd) { all(ls, i) },
		SnapshotDisplaced: func(i SnapshotDisplaced) { all(ls, i) },
		FlushEnd:          func(i FlushEnd) { all(ls, i) },
		SpillEnd:          func(i SpillEnd) { all(ls, i) },
		CompactWait:       func(i CompactWait) { all(ls, i) },
		CompactEnd:        func(i CompactEnd) { all(ls, i) },
		ScanPlanned:       func(i ScanPlanned) { all(ls, i) },
		StorageCall:       func(i StorageCall) { all(ls, i) },
		Warning:           func(i Warning) { all(ls, i) },
	}
}

func all(ls []*Listener, i Info) {
	for _, l := range ls {
		l.Emit(i)
	}
}

func call[I Info](f func(I), i I) {
	if f != nil {
		f(i)
	}
}
