/**
 * Java Paimon as a judge: it reads what Tarn wrote and writes what Tarn reads.
 *
 * <p>The program answers requests, one JSON object per line on standard input, with one JSON
 * object per line on standard output; anything else goes to standard error. Each argument of the
 * command line is taken as a request instead, and then standard input is not read.
 *
 * <p>A request has {@code cmd}, {@code warehouse} (a directory) and, if it likes, {@code id}, which
 * comes back in the reply. A reply has {@code ok}; when it is false, {@code error} is the last
 * exception's chain as text and {@code chain} the same as a list, outermost first.
 *
 * <ul>
 *   <li>{@code read}: table, branch, sys, filter, project, snapshot, tag, timestamp, options, kind
 *       → lines, rows, columns, types. Lines are in canonical form, sorted by their bytes. With
 *       {@code out}, the lines go to that file.
 *   <li>{@code stream}: table, branch, options, from (a snapshot id, "earliest" or "latest-full"),
 *       to → the same, in the order of the reader.
 *   <li>{@code reads}: reads, a list of what {@code read} is asked, or {@code stream} where there is
 *       a from → reads, the same as of each.
 *   <li>{@code check}: table, branch → snapshots, each read in full, with rows and the SHA-256 of
 *       its lines, or error.
 *   <li>{@code scenario}: scenario (an object) or file; judge → ops, how many were carried out.
 *   <li>{@code prepare}: table, rows, user, commit_id, options → messages: what a writer hands to a
 *       committer, in the bytes of Java's serializer, base64.
 *   <li>{@code commit}: table, user, commit_id, messages → snapshot, the latest id after it.
 *   <li>{@code expire}: table, options: what a commit to the table expires.
 *   <li>{@code plan}: as read → splits, in the bytes of Java's serializer, base64.
 *   <li>{@code read} with splits: reads these instead of planning.
 *   <li>{@code trees}: options, steps (add: a file; full) → compactions: what Java's compaction of a
 *       bucket would merge and move, one list per step that is no add. No warehouse.
 *   <li>{@code aggregate}: function, type, options, groups (lists of op, value) → groups, each with
 *       value or error. No warehouse.
 *   <li>{@code sketch}: kind, from, step, count, lgK, pack, compact, ordered → bytes, hex. No warehouse.
 *   <li>{@code estimate}: kind, bytes → estimate. No warehouse.
 *   <li>{@code version} → paimon, java.
 * </ul>
 */
package org.tarnlake.judge;
