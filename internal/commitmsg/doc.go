// Package commitmsg holds the message a writer hands to a committer: the files
// one (partition, bucket) gained and lost. It serialises to the bytes of Java's
// CommitMessageSerializer, so that either side may write or commit.
//
// Floor F2. One of the five nouns that travel between stages.
package commitmsg
