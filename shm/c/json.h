/* A reader of JSON text that allocates nothing: a cursor that is led through the text.
 * All of its functions do nothing once the text has turned out bad. */
#ifndef SKEWGATE_JSON_H
#define SKEWGATE_JSON_H

#include <stddef.h>
#include <stdint.h>

typedef struct json {
    const char *at, *end;
    int bad;   /* the text is not what was asked for */
    int fresh; /* no element of the innermost list or object was read yet */
} json;

json json_of(const char *text, size_t length);
void json_enter(json *j, char open);                 /* '{' or '[' */
int json_more(json *j, char close);                  /* another element? else it is left */
void json_key(json *j, char *to, size_t room);       /* and its colon; one too long is cut */
/* json_text reads a text with its final zero into to and returns its length; one longer
 * than room is bad. */
size_t json_text(json *j, char *to, size_t room);
/* json_said is for texts that only people read: one too long is cut, another value is "". */
void json_said(json *j, char *to, size_t room);
uint64_t json_number(json *j, uint64_t max);         /* a whole number without sign */
int json_bool(json *j);
int json_null(json *j);                              /* 1: the value was null, and is read */
void json_skip(json *j);                             /* any value */
int json_end(json *j);                               /* 1: all was read, and all was good */

#endif
