package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/appliance/story"
)

// maxStoryBytes bounds what is read from the socket.
const maxStoryBytes = 64 << 20

type explainOptions struct {
	runDir, camera string
	traces         []string
	ask            story.Ask
	until          time.Duration
	asJSON         bool
}

func newExplainCmd() *cobra.Command {
	o := &explainOptions{}
	cmd := &cobra.Command{
		Use:   "explain CAMERA [FRAME]",
		Short: "Tell the story of a frame: who came when, who did not, and why",
		Long: `Tell the story of a frame: who came when, who did not, and why.

FRAME is a frame id, seq:N (the seq of the fused frame), or a key as it is printed: id:7, q25:40,
w:…ns, q0:…ns, raw:text. Without it the newest closed frame is told; --incomplete takes the newest
in which somebody was missing, --last N the last ones. Frames that are still open can be asked for by
id or key.

Each line is one message, by its arrival after the frame's first; the closing stands among them, so
that what came late stands below it. Then come the models that did not join, each with its reason:
  late              it came after the frame was closed
  dead, hung        frames did not wait for it: its process had ended, or it answered nothing
  passed            it had promised to send nothing more for that time: nothing to say
  other_bucket      it came, and its capture time put it into another frame
  unreadable_time   it came with a time that nobody can read
  wrong_generation  it came from a detector of another generation
  absent            none of these: nothing came. What the dispatch did with the picture is said
The last line says what to do.

It asks the running appliance, which remembers the newest frames of each camera (up to 2,048; fewer
with many cameras). --trace reads a recording instead, the parts of one in any order. No recording
knows how many boxes there were, how a process ended, or what the dispatch did.

Exit codes: 0 told; 1 no such camera or frame, or no appliance answers; 2 usage; 78 the settings in
the recording are refused.`,
		Example: `  skewgate explain gate
  skewgate explain gate --incomplete
  skewgate explain gate 81234 --json | jq .frames[0].missing
  skewgate explain --trace trace.jsonl --trace trace.jsonl.1 gate seq:4711`,
		Args: usageArgs(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.camera = args[0]
			if len(args) > 1 {
				o.ask.Frame = args[1]
				if args[1] == "" {
					return exit(exitUsage, errors.New("the frame is empty: leave it out for the newest one"))
				}
			}
			if cmd.Flags().Changed("last") && o.ask.Last < 1 {
				return exit(exitUsage, fmt.Errorf("--last %d: ask for 1 to %d", o.ask.Last, story.MaxLast))
			}
			return explain(cmd, o)
		},
	}
	cmd.Flags().StringVar(&o.runDir, "run-dir", defaultRunDir(), "folder of the appliance's control.sock")
	cmd.Flags().StringArrayVarP(&o.traces, "trace", "f", nil, "recording to read in place of asking an appliance, - for standard input; once for each part")
	cmd.Flags().IntVar(&o.ask.Last, "last", 0, fmt.Sprintf("tell the last N closed frames, at most %d", story.MaxLast))
	cmd.Flags().BoolVar(&o.ask.Incomplete, "incomplete", false, "tell the newest frame in which somebody was missing")
	cmd.Flags().DurationVar(&o.until, "until", 0, "with --trace: stop this long after the first event")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print the stories as JSON")
	return cmd
}

func explain(cmd *cobra.Command, o *explainOptions) error {
	if len(o.traces) > 0 {
		return explainTrace(cmd, o)
	}
	if o.until != 0 {
		return exit(exitUsage, errors.New("--until belongs to --trace: a running appliance tells of now"))
	}
	if _, err := story.Parse(o.ask); err != nil {
		return exit(exitUsage, err)
	}
	body, err := fetchStory(cmd.Context(), o)
	if err != nil {
		return err
	}
	if o.asJSON {
		_, err := cmd.OutOrStdout().Write(body)
		return err
	}
	var d story.Document
	if err := json.Unmarshal(body, &d); err != nil {
		return fmt.Errorf("read the appliance's answer: %w", err)
	}
	return printStories(cmd.OutOrStdout(), &d)
}

func fetchStory(ctx context.Context, o *explainOptions) ([]byte, error) {
	query := url.Values{"camera": {o.camera}}
	switch {
	case o.ask.Frame != "":
		query.Set("frame", o.ask.Frame)
	case o.ask.Last > 0:
		query.Set("last", strconv.Itoa(o.ask.Last))
	case o.ask.Incomplete:
		query.Set("incomplete", "1")
	}
	resp, err := askAppliance(ctx, o.runDir, "/api/v1/explain?"+query.Encode(), 5*time.Second)
	if refused := (*answerError)(nil); errors.As(err, &refused) && refused.code == http.StatusNotFound {
		return nil, errors.New(refused.text)
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxStoryBytes))
	if err != nil {
		return nil, fmt.Errorf("read the appliance's answer: %w", err)
	}
	return body, nil
}
