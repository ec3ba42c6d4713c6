// Package interop talks to other implementations of Paimon, for tests in which
// each reads what Tarn wrote and writes what Tarn reads: Java Paimon 1.4.2, the
// judge (interop/java), and pypaimon (interop/py).
//
// Both are long-lived processes that answer JSON requests line by line, so a
// test binary starts each once. scripts/interop-env.sh installs them. Tests that
// need them carry the build tag interop; the harness itself does not. Flink's SQL is
// talked to by interop/flink.
//
// Floor: tests. Nothing imports it but tests and interop/replay.
package interop
