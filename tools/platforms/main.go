// Command platforms type-checks a module, with its tests, for other systems
// and processors. It reads sources only: compiling everything for each of them
// takes ten times as long and finds the same mistakes.
//
//	platforms DIR darwin/arm64 linux/arm64
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: platforms DIR SYSTEM/PROCESSOR...")
		os.Exit(2)
	}
	wrong := 0
	for _, platform := range os.Args[2:] {
		n, err := check(os.Args[1], platform)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", platform, err)
			os.Exit(1)
		}
		wrong += n
	}
	if wrong > 0 {
		os.Exit(1)
	}
}

// check prints what does not compile on a platform and returns how much it was.
func check(dir, platform string) (wrong int, err error) {
	system, processor, _ := strings.Cut(platform, "/")
	all, err := packages.Load(&packages.Config{
		Dir: dir, Tests: true,
		Env: append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes,
	}, "./...")
	if err != nil {
		return 0, err
	}
	if len(all) == 0 {
		return 0, fmt.Errorf("no packages in %s", dir)
	}
	fmt.Printf("%s: %d packages\n", platform, len(all))
	return packages.PrintErrors(all), nil
}
