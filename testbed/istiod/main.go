// The control plane of the mesh in the testbed: the upstream command, nothing added.
package main

import (
	"os"

	"istio.io/istio/pilot/cmd/pilot-discovery/app"
)

func main() {
	if err := app.NewRootCommand().Execute(); err != nil {
		os.Exit(1)
	}
}
