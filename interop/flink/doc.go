// Package flink talks to Apache Flink 2.0 with Paimon 1.4.2, for tests in which
// SQL of Flink reads what Tarn wrote, writes what Tarn reads, and takes turns with
// it on one table.
//
// One long-lived process holds Flink's SQL gateway and the cluster that runs its
// jobs (interop/flink/java); Gateway starts it, Session sends statements over HTTP.
// scripts/interop-env.sh flink installs it. Tests that need it carry the build tag
// interopall and run by `make interop-all`; the client itself does not.
//
// Floor: tests. Nothing imports it.
package flink
