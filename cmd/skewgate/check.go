package main

import "github.com/spf13/cobra"

func newCheckCmd() *cobra.Command { return &cobra.Command{Use: "check"} }
