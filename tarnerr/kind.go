package tarnerr

import "errors"

// Kind classifies an error by what a caller can do about it. A Kind is itself
// an error, so errors.Is(err, tarnerr.Conflict) asks for the kind of err.
type Kind uint8

const (
	// Internal is a broken invariant: a defect of Tarn. The zero value, so an
	// unclassified error is never mistaken for something a caller may retry.
	Internal Kind = iota
	// Invalid is input that can never succeed: the caller must change it.
	Invalid
	// Unsupported names a feature this version does not have.
	Unsupported
	// NotFound is a database, table, snapshot or file that does not exist.
	NotFound
	// AlreadyExists is a name that is taken.
	AlreadyExists
	// Conflict is a commit refused because files disagree; see the message for
	// whose commit, and whether a retry of the whole job can help.
	Conflict
	// Contention is a commit that lost its races until its retries ran out.
	// Nothing disagreed: trying again later can succeed. Never a Conflict.
	Contention
	// CommitStateUnknown is a commit of which nobody can tell yet whether it
	// landed. Nothing may be repeated or deleted until it is resolved.
	CommitStateUnknown
	// Fenced is a writer that another writer of the same role has replaced.
	Fenced
	// Corrupt is a file whose bytes are not what its format says.
	Corrupt
	// Expired is a snapshot, tag or position that retention has removed.
	Expired
	// Unavailable is a storage or service failure before any effect: safe to
	// try again.
	Unavailable
	// Denied is a missing permission.
	Denied
	// Closed is the use of something after its Close.
	Closed
	// Ambiguous is a storage failure after which the effect may or may not
	// have happened. It stays inside the storage and commit layers, which
	// resolve it or turn it into CommitStateUnknown.
	Ambiguous
)

var kindNames = [...]string{
	Internal: "internal", Invalid: "invalid", Unsupported: "unsupported", NotFound: "not found",
	AlreadyExists: "already exists", Conflict: "conflict", Contention: "contention",
	CommitStateUnknown: "commit state unknown", Fenced: "fenced", Corrupt: "corrupt",
	Expired: "expired", Unavailable: "unavailable", Denied: "denied", Closed: "closed", Ambiguous: "ambiguous",
}

// String is the kind's name in lower case, as logs, metrics and `reason` fields show it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "internal"
}

// Error makes a Kind usable as the target of errors.Is.
func (k Kind) Error() string { return k.String() }

// ExitCode is the process exit code of the tarn command for an error of this
// kind; docs/errors.md lists them.
func (k Kind) ExitCode() int {
	switch k {
	case Invalid:
		return 2
	case NotFound:
		return 3
	case AlreadyExists:
		return 4
	case Conflict:
		return 5
	case Contention:
		return 6
	case CommitStateUnknown, Ambiguous:
		return 7
	case Unsupported:
		return 8
	case Corrupt:
		return 9
	case Expired:
		return 10
	case Unavailable:
		return 11
	case Denied:
		return 12
	case Fenced:
		return 13
	case Closed:
		return 14
	default:
		return 1
	}
}

// KindOf returns the kind of the outermost classified error in err's chain,
// Internal when there is none. It must not be called with nil.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	var k Kind
	if errors.As(err, &k) {
		return k
	}
	return Internal
}
