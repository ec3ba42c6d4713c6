// Package catalog names databases and tables: create, list, alter, rename,
// drop and load. Implementations live below it, filesystem first.
//
// Floor F6.
package catalog
