// Command scalebench measures how far an application scales on rented
// machines. See package cli.
package main

import (
	"fmt"
	"os"

	"github.com/scalebench/scalebench/internal/cli"
)

func main() {
	env, err := cli.OSEnv()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scalebench:", err)
		os.Exit(1)
	}
	os.Exit(cli.Main(env))
}
