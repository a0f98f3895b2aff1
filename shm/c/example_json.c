/* A detector with a source of its own: reads lines "CAPTURE_NS X1 Y1 X2 Y2 SCORE LABEL"
 * (the time alone: nothing was found) from its input and publishes each as JSON.
 *
 *     example_json MODEL CAMERA <lines */
#include "skewgate_shm.h"

#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    sg_error err;
    char line[256], json[256], label[32];
    if (argc != 3)
        return fprintf(stderr, "usage: example_json MODEL CAMERA <lines\n"), 2;
    sg_client *c = sg_attach_writer(NULL, argv[1], 0, &err);
    int stream = c != NULL ? sg_stream(c, argv[2], &err) : -1, code = stream;
    if (code >= 0)
        sg_set_state(c, SG_STATE_READY);
    while (code >= 0 && fgets(line, sizeof line, stdin) != NULL) {
        double x1, y1, x2, y2, score;
        sg_stamp of = {.stream = (uint32_t)stream};
        int n =
            sscanf(line, "%" SCNd64 " %lf %lf %lf %lf %lf %31[a-z]", &of.capture_ns, &x1, &y1, &x2, &y2, &score, label);
        if (n == 7)
            n = snprintf(json, sizeof json, "{\"detections\":[{\"box\":[%g,%g,%g,%g],\"score\":%g,\"label\":\"%s\"}]}",
                         x1, y1, x2, y2, score, label);
        else if (n == 1)
            n = snprintf(json, sizeof json, "{\"detections\":[]}");
        else
            return fprintf(stderr, "not a detection: %s", line), sg_close(c), 1;
        while ((code = sg_publish_json(c, &of, json, (size_t)n, &err)) == SG_E_REATTACHED)
            ; /* the source is our own, so the message is as good as before */
        if (code == SG_E_DETACHED)
            code = 0; /* nobody listens at present: this one is lost */
    }
    if (code < 0)
        fprintf(stderr, "%s\n", err.text);
    sg_close(c);
    return code < 0;
}
