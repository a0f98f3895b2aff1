#define _POSIX_C_SOURCE 200809L /* strerror_r that fills a buffer, not GNU's */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>

/* Texts of errors. They are made only when there is somebody to read them, and cut to what
 * the struct holds; nothing here allocates. */

static void fill(sg_error *err, int code, int reason, int number, const char *format, va_list args)
{
    sg_error e = {.code = code, .reason = reason, .system = number};
    vsnprintf(e.text, sizeof e.text, format, args);
    *err = e;
}

int sg_fail(sg_error *err, int code, int reason, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        fill(err, code, reason, 0, format, args);
        va_end(args);
    }
    return code;
}

int sg_fail_system(sg_error *err, int number, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        fill(err, SG_E_SYSTEM, 0, number, format, args);
        va_end(args);
        size_t n = strlen(err->text);
        char why[128];
        if (strerror_r(number, why, sizeof why) != 0)
            snprintf(why, sizeof why, "error %d", number);
        snprintf(err->text + n, sizeof err->text - n, ": %s", why);
    }
    return SG_E_SYSTEM;
}

/* The text moves over for what comes before it; its end may be cut, its beginning, which
 * says where, may not. */
int sg_prefix(sg_error *err, const char *format, ...)
{
    if (err == NULL)
        return SG_E_ARGUMENT;
    char was[sizeof err->text];
    memcpy(was, err->text, sizeof was);
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t n = strlen(err->text);
    snprintf(err->text + n, sizeof err->text - n, ": %s", was);
    return err->code;
}

const char *sg_reason_name(int reason)
{
    /* In the order of enum sg_reason; a Go test compares them with the appliance's. */
    static const char *const names[] = {
        "", "magic", "abi_version", "segment_kind", "size", "layout", "name", "head_out_of_range",
        "head_backwards", "slot_sequence", "length", "message_kind", "stream", "stream_table", "picture",
    };
    if (reason < 0 || (size_t)reason >= sizeof names / sizeof names[0])
        return "unknown";
    return names[reason];
}
