// Package env is the one seam for nondeterminism: clock, timers, random
// numbers and UUIDs. Stages take an [Env]; tests and simulations give a seeded one.
//
// Floor F0.
package env
