// Package table is one small table for people and machines.
//
//  1. The caller names the [Column]s and adds rows of [Cell]s; each cell
//     carries what a person reads and the value that a program reads.
//  2. [Table.WriteText] lays it out for a terminal: on one line a row where
//     that fits, with the cells' lines stacked where it does not, as records
//     (label and value) where even that is too wide.
//  3. [Table.WriteCSV] and [Table.WriteJSON] write the values, unrounded.
//
// Text that came from outside (node ids, error messages, output) passes
// [Clean] on its way into a cell, so that it can neither move the cursor of a
// terminal nor imitate another row.
package table
