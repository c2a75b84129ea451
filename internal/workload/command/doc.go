// Package command runs any command as a benchmark and takes metrics from what
// it prints.
//
//  1. The command goes through a shell, so that cd, ~, * and | work.
//  2. What it prints passes through to the result; meanwhile lines of its
//     standard output may be read as a progress counter.
//  3. The run ends with the command's process. What it left in the background
//     gets a second to finish printing and is killed with the task.
//  4. A command that ends with another status than 0 has failed, whatever it
//     printed.
//  5. Metrics are extracted from the output; one that is missing or no number
//     fails the task and the message shows what was printed. Besides, the time
//     from start to end is always reported as `elapsed`.
//
// Extraction works on up to 16 MiB of each stream: all of it, or, when it is
// longer, the first and the last whole lines of 8 MiB each.
package command
