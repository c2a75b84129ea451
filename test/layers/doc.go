// Package layers holds no code, only the test that keeps the packages of
// scalebench in their tiers.
//
// The test reads the import clauses of every Go file of the module, whatever
// its build tags (so that a file for another system cannot hide an import),
// and
//
//  1. places each package in the table of tiers; a package that the table does
//     not know fails, with the word where to add it;
//  2. checks that each import goes to a lower tier;
//  3. checks the rules that tiers cannot express: which package may use which
//     library, and what only tests may import;
//  4. checks that docs/architecture.md shows the same table, and that
//     DEPENDENCIES.md names every library.
//
// Every rule carries its reason, and the failure prints it.
package layers
