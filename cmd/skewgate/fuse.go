package main

import "github.com/spf13/cobra"

func newFuseCmd() *cobra.Command { return &cobra.Command{Use: "fuse"} }
