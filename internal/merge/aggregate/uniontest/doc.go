// Package uniontest checks unions of serialised sets against those that Java made.
//
// Floor T.
package uniontest
