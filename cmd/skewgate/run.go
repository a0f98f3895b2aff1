package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance"
	"github.com/skewgate/skewgate/appliance/config"
)

func newRunCmd() *cobra.Command {
	var files configFlag
	var runDir, stateDir, logFormat, logLevel string
	var rec appliance.Record
	var partBytes partSize
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the appliance until SIGTERM or SIGINT",
		Long: `Run the appliance until SIGTERM or SIGINT.

The first signal drains: cameras stop, what is in flight is answered, sinks flush, and
the exit code is 0. A second one ends the process at once; its children die with it.
A camera that is not there does not end the appliance: it is retried and named in
` + "`skewgate status`" + `. A wrong config ends it with code 78 and every error at once.`,
		Example: `  skewgate run -c /etc/skewgate/config.yaml
  skewgate run -c skewgate.yaml --run-dir /tmp/sg --log-format json
  skewgate run -c skewgate.yaml --record trace.jsonl`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := newLogger(cmd.ErrOrStderr(), logFormat, logLevel)
			if err != nil {
				return exit(exitUsage, err)
			}
			cfg, err := files.load(cmd, log)
			if err != nil {
				return err
			}
			if stateDir != "" {
				cfg.StateDir = stateDir
			}
			o, err := locate(cfg)
			if err != nil {
				return err
			}
			o.Log, o.RunDir, o.Record = log, runDir, rec
			o.Record.MaxSize = int64(partBytes)
			ctx, stop := untilSignal(cmd.Context()) // before there is anything to clean up
			defer stop()
			a, err := appliance.New(cfg, o)
			if err != nil {
				return err
			}
			log.Info("skewgate runs", "unit", cfg.Unit, "cameras", len(cfg.Cameras), "models", len(cfg.Models), "version", o.Version, "control", runDir)
			return a.Run(ctx)
		},
	}
	files.register(cmd)
	cmd.Flags().StringVar(&runDir, "run-dir", defaultRunDir(), "folder for control.sock and attach.sock")
	cmd.Flags().StringVar(&stateDir, "state-dir", "", "folder for state, in place of the config's state_dir")
	cmd.Flags().StringVar(&logFormat, "log-format", "text", "text or json")
	cmd.Flags().StringVar(&logLevel, "log-level", "info", "debug, info, warn or error")
	cmd.Flags().StringVar(&rec.Path, "record", "", "record the run from its first message on into this file, for replay and advise")
	partBytes.register(cmd, "record-max-size", "record-keep", &rec.Keep)
	return cmd
}

// untilSignal returns a context that ends with the first SIGTERM or SIGINT. The
// second one ends the process at once, with the code of a signal.
func untilSignal(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT)
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		cancel()
		if s, ok := <-signals; ok {
			fmt.Fprintln(os.Stderr, "skewgate: second signal, ending at once")
			os.Exit(128 + int(s.(unix.Signal)))
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}

func newLogger(out io.Writer, format, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level %q is not debug, info, warn or error", level)
	}
	o := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(out, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, o)), nil
	}
	return nil, fmt.Errorf("--log-format %q is not text or json", format)
}

// locate finds the programs and the library the children need, and names what is
// missing with its cure.
func locate(cfg *config.Config) (appliance.Options, error) {
	o := appliance.Options{Version: version}
	self, err := os.Executable()
	if err != nil {
		return o, fmt.Errorf("find this program's own path: %w", err)
	}
	if o.Self, err = filepath.EvalSymlinks(self); err != nil {
		return o, fmt.Errorf("find this program's own path: %w", err)
	}
	var missing []error
	var tried []string
	if !cfg.Managed() {
		return o, locateFFmpeg(cfg, &o)
	}
	if o.Detect, tried = cfg.Runtime.FindDetect(o.Self); o.Detect == "" {
		missing = append(missing, fmt.Errorf("skewgate-detect is not at %s: build it with `make build`, or name it in runtime.detect", strings.Join(tried, ", ")))
	}
	if o.Library, tried = cfg.Runtime.FindLibrary(o.Self, os.LookupEnv); o.Library == "" {
		missing = append(missing, fmt.Errorf("ONNX Runtime is not at %s: fetch it with `make setup`, or name libonnxruntime.so.1 in runtime.library", strings.Join(tried, ", ")))
	}
	missing = append(missing, locateFFmpeg(cfg, &o))
	for _, p := range []*string{&o.Detect, &o.Library} {
		if *p == "" {
			continue
		}
		if *p, err = filepath.Abs(*p); err != nil {
			missing = append(missing, err)
		}
	}
	return o, errors.Join(missing...)
}

func locateFFmpeg(cfg *config.Config, o *appliance.Options) (err error) {
	if o.FFmpeg, err = exec.LookPath(cfg.Runtime.FFmpeg); err == nil {
		o.FFmpeg, err = filepath.Abs(o.FFmpeg)
	}
	if err != nil {
		return fmt.Errorf("ffmpeg: %w: install it (`apt-get install ffmpeg`), or name it in runtime.ffmpeg", err)
	}
	return nil
}
