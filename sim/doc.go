// Package sim runs several processes against one table, with crashes, lost
// replies and delays, and checks that no row is lost or doubled and that every
// outcome told is true.
//
// One number, the seed, decides everything: what the processes do, which of
// their storage calls goes next, which of them fail and how, who dies and who
// comes back. The storage of each process is a gate: a call waits there until the
// scheduler admits it, and one call is admitted at a time over all processes.
// Between two admissions everybody works until nobody can go on, which
// testing/synctest tells; its clock runs only then. So the same seed gives the
// same run, byte for byte of its trace.
//
// Seeds from a million on have expirers as well (expirer.go). They are held to that all
// that lives is whole, also at the moment an expiry is cut off; that expiry leaves no
// file behind; and that commits in doubt can still be resolved.
//
// Read scenario.go (what happens), scheduler.go and gate.go (in which order),
// the jobs (writer.go, compactor.go, overwriter.go, reader.go), then model.go,
// history.go, rowids.go, check.go and linear.go (what must come of it).
//
// A run that fails writes its trace to a file and says how to run it again:
//
//	go test ./sim -run 'TestReplay$' -args -trace FILE
//	go test ./sim -run 'TestSeeds$' -args -seed 4711
//
// Floor T.
package sim
