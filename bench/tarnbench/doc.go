// Command tarnbench runs one workload of the contest between implementations
// with Tarn, in a process of its own, through the public API:
//
//	tarnbench WORKLOAD SIZE DIR DATA [key=value ...]
//
// It prints lines RESULT {json}. What is charged and how results are checked is
// told in docs/performance.md; scripts/bench-peers.sh runs it beside its peers.
package main
