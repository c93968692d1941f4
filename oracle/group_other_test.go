//go:build !unix

package oracle

import (
	"context"
	"testing"
)

// noneLeft cannot tell here which processes are alive.
func noneLeft(*testing.T, context.Context) {}
